"""Words and passages that the templates of our own are filled with."""

from __future__ import annotations

from typing import Final

PASSAGES: Final = (
    "The harbour authority announced on Tuesday that the old ferry terminal will close in March. "
    "Around 200 jobs are affected, and the union has asked for talks with the city council.",
    "Bees communicate the location of flowers through a dance. The angle of the dance shows the "
    "direction relative to the sun, and its length shows how far the flowers are.",
    "Our quarterly revenue rose by 8 percent to 41 million dollars, mostly because of the new "
    "subscription plan. Costs grew more slowly, at 3 percent, and margins improved.",
    "I ordered the blue jacket two weeks ago and it still has not arrived. The tracking page says "
    "that it left the warehouse in Leipzig on May 4. Please tell me what is going on.",
    "In this paper we study how small language models can be trained on synthetic textbooks. We "
    "find that data quality matters more than size, and we release all of our checkpoints.",
    "Maria opened the door and saw that the garden had changed overnight. Where the roses used to "
    "be, there was a narrow path of white stones that led to the forest.",
    "Meeting notes: Anna will send the budget by Friday. Tom needs two more engineers. The launch "
    "moves to October 12. Open question: who talks to the supplier in Osaka?",
    "The room was clean and the staff friendly, but breakfast was a disappointment: cold eggs, "
    "no fruit, and a coffee machine that broke down twice while we were there.",
    "Photosynthesis converts light into chemical energy. It takes place in the chloroplasts, "
    "where chlorophyll absorbs mostly red and blue light and reflects green.",
    "The treaty of 1848 ended the war and moved the border to the south. Many families suddenly "
    "lived in another country without having left their farms.",
    "Dr. Helen Ruiz, 52, joined Northwind Labs in 2014 and became its chief scientist in 2019. "
    "She lives in Toronto and can be reached at h.ruiz@northwind.example or +1 555 0134.",
    "Patients who slept less than six hours a night had a higher risk of infection. The authors "
    "followed 1,200 adults for three years and controlled for age, smoking and income.",
    "This agreement is made between Redwood Supplies Ltd and Oakfield Foods GmbH. Payment is due "
    "within 30 days of the invoice date. Either party may terminate with 60 days notice.",
    "Remote work has changed how cities think about offices. Some landlords turn towers into "
    "apartments, others offer shorter leases, and a few have handed back the keys to the bank.",
    "me and him was going to the store yesterday but it were closed so we goes home and eat there.",
    "The team have decided, that the new process which was introduced last year, needs improving.",
    "A volcano on the island erupted for the third time this month. Flights were cancelled, and "
    "about 4,000 people spent the night in schools and sports halls.",
    "The central bank kept interest rates at 4.25 percent. Analysts had expected a cut, but "
    "inflation in services is still above the target.",
    "Grandmother's kitchen always smelled of cardamom. On Sundays she let us knead the dough, and "
    "we fought over who would braid the last loaf.",
    "Name: Peter Novak. Order 88213. Item: espresso machine. Problem: leaks water at the back. "
    "Bought on 2 February in the Prague store.",
)

SENTENCES: Final = (
    "I can't come to the meeting because I have too much work.",
    "The weather is lovely today.",
    "We regret to inform you that your flight has been delayed.",
    "He don't know nothing about the plan.",
    "Where is the nearest train station?",
    "The product is good but the price is too high.",
    "She has been working here since ten years.",
    "Due to the fact that it rained, the match was not played.",
    "Please send me the documents as soon as possible.",
    "Life is like riding a bicycle.",
    "Our customers love the new design, and sales went up.",
    "The results was not what we expected.",
    "Thanks for reaching out, I'll get back to you tomorrow.",
    "The quick brown fox jumps over the lazy dog.",
    "It is very important that everyone understands the rules.",
    "gonna be late, traffic is crazy",
)

TOPICS: Final = (
    "climate change",
    "the Roman Empire",
    "social media and teenagers",
    "renewable energy",
    "artificial intelligence in medicine",
    "the gig economy",
    "electric cars",
    "remote work",
    "the French Revolution",
    "quantum computing",
    "mental health at work",
    "space exploration",
    "online education",
    "healthy eating",
    "blockchain",
    "coffee",
    "urban gardening",
    "animal rights",
    "gender equality",
    "the stock market",
    "sleep",
    "microplastics",
    "vaccines",
    "immigration",
    "video games",
    "small business marketing",
    "wind turbines",
    "cyber security",
    "the housing crisis",
    "photography",
    "Shakespeare's Macbeth",
    "large language models",
    "nuclear power",
    "fast fashion",
    "public transport",
    "yoga",
)

PEOPLE: Final = (
    "my boss",
    "my landlord",
    "the school principal",
    "a customer",
    "my professor",
    "the HR department",
    "my grandmother",
    "a potential investor",
    "our supplier",
    "the hiring manager",
    "my neighbor",
    "a colleague",
    "the city council",
    "my team",
    "a client",
    "the insurance company",
)

REASONS: Final = (
    "asking for a raise",
    "declining an invitation",
    "requesting two days off",
    "apologizing for a late delivery",
    "complaining about noise",
    "thanking them for their help",
    "asking for a refund",
    "introducing our new product",
    "following up after an interview",
    "announcing that I am leaving",
    "rescheduling a meeting",
    "asking for an extension of the deadline",
    "inviting them to a party",
    "reporting a broken heater",
    "congratulating them on a promotion",
    "asking for a letter of reference",
)

CHARACTERS: Final = (
    "a lighthouse keeper",
    "a lonely robot",
    "two brothers in a small town",
    "a dragon who is afraid of fire",
    "a detective in 1920s Paris",
    "a girl who can talk to birds",
    "an astronaut stranded on Mars",
    "a chef who lost her sense of taste",
    "a time traveler",
    "a cat that runs a bakery",
    "a retired spy",
    "an orphan and a magic map",
    "vampires in high school",
    "a knight without a sword",
)

LANGUAGES: Final = (
    "French",
    "German",
    "Spanish",
    "Japanese",
    "Chinese",
    "Italian",
    "Portuguese",
    "Russian",
    "Arabic",
    "Hindi",
    "Korean",
    "Dutch",
    "Turkish",
    "Polish",
    "Latin",
    "Swedish",
    "Vietnamese",
    "Urdu",
    "simplified Chinese",
    "Brazilian Portuguese",
)

PROGRAMMING: Final = (
    "Python",
    "JavaScript",
    "Java",
    "C++",
    "Rust",
    "Go",
    "TypeScript",
    "C#",
    "PHP",
    "Ruby",
    "Swift",
    "Kotlin",
    "bash",
    "SQL",
    "R",
    "Scala",
)

CHORES: Final = (
    "reverses a linked list",
    "checks whether a string is a palindrome",
    "downloads all images of a web page",
    "parses a CSV file and sums one column",
    "finds the longest common prefix",
    "sends an email with an attachment",
    "merges two sorted arrays",
    "validates email addresses",
    "counts words in a file",
    "connects to a PostgreSQL database",
    "draws a bar chart",
    "implements a binary search tree",
    "renames files in a folder",
    "rotates a matrix",
    "uploads a file to S3",
    "solves sudoku",
    "computes fibonacci numbers",
    "removes duplicates from a list",
)

SNIPPETS: Final = (
    "def add(a, b):\n    return a - b",
    "for (int i = 0; i <= n; i++) { sum += a[i]; }",
    "const [state, setState] = useState();\nuseEffect(() => { setState(state + 1); });",
    "SELECT name, COUNT(*) FROM users WHERE age > 30;",
    'fn main() { let v = vec![1,2,3]; let w = v; println!("{:?}", v); }',
    "import pandas as pd\ndf = pd.read_csv('x.csv')\ndf.groupby('a').mean()['b']",
    '<div class="box"><p>Hello</p></div>\n.box { display: flex; }',
    "public class Main { public static void main(String[] args) { System.out.println(x); } }",
    "Traceback (most recent call last):\n  File \"a.py\", line 3\nKeyError: 'id'",
    "while True:\n    data = sock.recv(1024)\n    print(data)",
)

THINGS: Final = (
    "a birthday party",
    "a bakery",
    "a weekend in Lisbon",
    "a mobile app",
    "a wedding",
    "a coffee shop",
    "a job interview",
    "a garden",
    "a startup",
    "a fitness program",
    "a podcast",
    "a school trip",
    "a camping trip",
    "a new laptop",
    "a YouTube channel",
    "a dinner for six",
    "a language course",
    "a home office",
)

FACTS: Final = (
    "the capital of Mongolia",
    "photosynthesis",
    "inflation",
    "a black hole",
    "the tallest building in the world",
    "DNA",
    "the difference between a virus and a bacterium",
    "the speed of light",
    "machine learning",
    "the population of Brazil",
    "osmosis",
    "GDP",
    "the theory of relativity",
    "a mutual fund",
    "the function of the liver",
    "entropy",
    "the Magna Carta",
    "plate tectonics",
    "HTTPS",
    "the water cycle",
    "an API",
    "the main cause of World War I",
)

FORMULAS: Final = (
    "3x + 7 = 22",
    "x^2 - 5x + 6 = 0",
    "2(x - 4) = 3x + 1",
    "\\int_0^1 x^2 dx",
    "\\frac{d}{dx} \\sin(x^2)",
    "12 * (7 + 5) / 4",
    "5x + 2y = 11, x - y = 1",
    "log2(32)",
    "\\lim_{x \\to 0} \\frac{\\sin x}{x}",
    "15% of 240",
    "sqrt(144) + 3^3",
    "|x - 3| < 5",
    "2^10 - 24",
)
