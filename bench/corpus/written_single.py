"""Requests of our own, part four: single prompts as people send them, one a line."""

from __future__ import annotations

from typing import Final

from hmas.bench.corpus.sample import CODES
from hmas.bench.corpus.written_more import MORE_LINES
from hmas.engine.features import TaskType

_LINES: Final = {
    "Q": """
Who wrote Pride and Prejudice?
What year did the Berlin Wall fall?
how far is the moon from earth
Why is the sky blue?
What are some good sources of protein?
What is the best way to remove red wine stains?
Identify the largest ocean on earth.
Name the chemical symbol of gold.
Name two famous Impressionist painters.
Describe how a refrigerator works.
Describe the life cycle of a butterfly.
Describe the history of jazz in New Orleans.
Explain why leaves change color in autumn.
Explain the role of the Supreme Court.
Explain the difference between weather and climate.
Compare the education systems of Finland and Japan.
Compare and contrast dogs and wolves.
Define "cognitive dissonance".
Define the term opportunity cost.
State the first law of thermodynamics.
State two facts about penguins.
Provide the definition of metabolism.
Tell me why exercise is good for the heart.
What does HTTP stand for?
Is a tomato a fruit or a vegetable?
Can I take ibuprofen and paracetamol together?
Does drinking coffee stunt your growth?
Are sharks mammals?
Which is heavier, a kilo of feathers or a kilo of iron?
Which animal is the fastest on land?
Find the capital city of Australia.
What are the main differences between a crocodile and an alligator?
Give me the definition of an oxymoron.
Give an overview of the Cold War.
Why did the Titanic sink?
How do I change a flat tire?
How do vaccines work?
How can I sleep better?
What should I do if I find a tick on my skin?
In which country was the pizza invented?
Discuss the causes of the Great Depression.
What impact did the printing press have on Europe?
Should I rent or buy a house?
what's the difference between a lager and an ale
when is the best time to visit Japan?
Who is the author of the passage and where was he born?
Select the correct answer: the powerhouse of the cell is the a) nucleus b) mitochondrion
Verify whether it is true that lightning never strikes the same place twice.
Evaluate the statement: money buys happiness. Is it true?
What kind of music does Coldplay play?
What are the rules of cricket?
Without looking it up, who won the 1998 World Cup?
Predict what will happen to coral reefs if the oceans keep warming.
What is the significance of the number 42?
""",
    "I": """
Generate a list of ten random words.
Generate a random password with 12 characters.
Generate a tagline for a shoe shop.
Generate a unique username for a gamer.
Generate a question about photosynthesis for a quiz.
Generate a set of rules for a board game.
Come up with a name for a band that plays sad songs.
Come up with a creative way to reuse jars.
Create a packing list for a beach holiday.
Create a mnemonic for the planets.
Create a menu for a vegan restaurant.
Create a survey on customer satisfaction.
Create a metaphor about time.
Create a riddle whose answer is a candle.
Create a bar chart of these sales: Jan 10, Feb 15, Mar 7
Create a persona for a target customer of a bike shop.
Design a poster for a school play.
Design a game that teaches children to recycle.
Devise a training program for new employees.
Develop a strategy to reduce food waste in a canteen.
Suggest three outfits for a winter wedding.
Suggest a hashtag for our team event.
Suggest ways to save money on groceries.
Propose a theme for the annual conference.
Give me five fun facts to open a talk with.
Give me a list of synonyms for happy.
Give two examples of a simile.
Give an example of a mammal that lays eggs.
List the ingredients of a classic mojito.
List five reasons to learn a second language.
List the steps to bake sourdough bread.
Provide three ways to improve memory.
Provide a sample agenda for a kickoff meeting.
Make a to-do list for spring cleaning.
Make up a holiday and tell me how it is celebrated.
Fill in the blank: The early bird catches the ____.
Complete the sentence: If I were invisible, I would
Arrange these numbers in descending order: 4, 19, 2, 33
Rank these cities by size: Paris, Oslo, Delhi
Pick a random color and an animal.
Think of a nickname for a very tall man.
Recommend a podcast for someone who likes history.
Recommend a wine to go with salmon.
Plan a romantic evening at home.
Plan a three course dinner without dairy.
Write a recipe for banana bread.
Write a product description for a wireless headphone.
Write a tweet announcing our new office.
Write a slogan for a campaign against smoking.
Write a short bio for my dating profile: 31, engineer, loves climbing
Write a list of questions to ask at a first date.
Write instructions for assembling a bookshelf.
Write a caption for a photo of a sunset.
Write a LinkedIn post about my new certification.
Write a job ad for a barista.
Write a review of the restaurant Luigi's, 4 stars.
Write a question that nobody can answer.
Write a sentence using the word serendipity.
Write a headline for the opening of a new zoo.
Use the words moon, bread and silence in one sentence.
Tell me a dad joke.
Tell me three jokes about lawyers
Use the tools to find the weather in Oslo tomorrow.
Turn off the heating at 10 pm and remind me to call mum.
Respond only in uppercase and list three fruits.
Answer with exactly five words: why do cats purr?
Build me a morning routine that takes 20 minutes.
Brainstorm names for a cat cafe.
Outline a course on personal finance.
Draw an ASCII picture of a fish.
Set up a study schedule for my exams in June.
I want to surprise my husband on his 40th birthday. Ideas?
Invent a superhero whose power is useless.
""",
    "P": """
Rewrite the sentence using a stronger verb: The man walked quickly to the car.
Rewrite this in active voice: The cake was eaten by the children.
Rewrite the sentence to make it less aggressive: You never listen to me!
Change the tone of this sentence to friendly: Submit the form now.
Change the sentence to present tense: She walked home.
Change "I am hungry" into the negative.
Make the sentence shorter: In spite of the fact that it was late, we stayed.
Make this paragraph easier to read.
Edit the sentence so that it is grammatically correct: Me like ice cream very much
Edit this text for a business audience.
Improve this headline: Shop Opens In Town
Improve the flow of these two sentences: It rained. We went out.
Combine these two sentences into one: He was tired. He went to bed.
Replace the underlined word with a synonym: The movie was _good_.
Add punctuation to this sentence: lets eat grandma
Correct the spelling: definately, recieve, seperate
Correct any errors: Their going to loose the game.
Reorganize the words to make a sentence: dog the barked loudly
Rearrange this sentence to sound natural: To the store went I.
Reword: I couldn't care less about it.
Restate the following in your own words: A penny saved is a penny earned.
Rephrase the question so it is open-ended: Do you like your job?
Convert this sentence into indirect speech: He said, "I am tired."
Convert the sentence to future tense: They play chess.
Transform into a compliment: Your work is not terrible.
Simplify: The aforementioned individual proceeded to the domicile.
Paraphrase: Actions speak louder than words.
Turn this informal note into formal English: hey dude, can't make it 2nite
Rewrite in second person: I opened the box and took the key.
Polish this sentence from my thesis: The datas shows that it is a effect.
please fix my english: i am agree with you about this topic
Proofread: Its a beautiful day, isnt it
Write the sentence in another way: I forgot my umbrella.
Write the opposite of this sentence: The room is bright.
Modify the sentence by adding an adjective: The cat sleeps.
Say "you're fired" in a nicer way.
""",
    "X": """
Classify these items as solid, liquid or gas: ice, steam, oil
Classify the following sentence as a question, a statement or a command: Close the door.
Classify the tweet as happy or sad: best day ever!!
Classify whether the animal is a bird or a fish: trout, robin, cod
Categorize the words: apple, desk, carrot, chair
Identify the subject of this sentence: The old man fed the pigeons.
Identify the adjectives in: The tall green tree fell.
Identify the tense of the verb in the sentence: She had eaten.
Identify the emotion in this text: I can't stop crying since she left.
Identify which of these is a dinosaur: Triceratops, Elephant, Stegosaurus, Hippo
Identify whether each is a team sport or an individual sport: golf, soccer, tennis
Detect any toxic language in the comment: you are an idiot
Determine the sentiment of: The service was slow but the food was great.
Determine if the sentence is in passive voice: The ball was thrown.
Decide whether this is a promotion or a personal email: 50% off all shoes this weekend!
Extract the main verbs from: He runs, jumps and swims.
Extract the price: The lamp costs 49.90 euros at Ikea.
Extract all hashtags: loving this #sunset in #bali
Find the verb in this sentence: Birds sing.
Find the names of the cities in the paragraph below.
Find the grammatical error in: He go to school.
Is the following review positive or negative? Total waste of money.
Is this sentence a fact or an opinion? Blue is the nicest color.
Label each sentence as true, false or unknown according to the text.
Pick out the keywords of the following paragraph.
Select the noun in this list: run, happy, table, quickly
Sort these animals into mammals and reptiles: cow, snake, bat, lizard
Split these into two categories, living and non-living: rock, tree, cat, car
Tag the parts of speech: I love pizza
Tell me which of these are programming languages and which are snakes: Python, Java, Cobra
Which of the following are countries: Paris, Peru, Texas, Togo
Parse the receipt and return the items with prices.
From the text, list all companies along with their CEOs.
Read the passage and list every date that is mentioned, as bullets.
Provide a list of the people in the paragraph, separated by semicolons.
Assign a topic to the following article: sports, tech or health.
Output 1 if the sentence is sarcastic, else 0: Oh great, another Monday.
Count the number of vowels in the word "banana".
What is the part of speech of the word "quickly" here: She ran quickly.
Given this resume, return name, email and skills as JSON.
""",
    "F": """
Write a story that begins with the line "The phone rang twice".
Write a fairy tale in which the wolf is good.
Write a haiku about winter.
Write a limerick about a cat from Kent.
Write a love poem for Valentine's day.
Write a rap about math class
Write a country song about a truck.
Write a scene with two people stuck in an elevator.
Write a dialogue between a teacher and a lazy student.
Write a conversation between the sun and the moon.
Write a play with three acts.
Write a blog about traveling alone.
Write a blog post on the ten best hikes in Norway.
Write a diary entry of a soldier in 1916.
Write a science fiction story in 500 words.
Write a narrative about moving to a new town.
Write a detailed guide on growing tomatoes.
Write a script for a short film about regret.
Write a creation myth for an invented people.
Compose a poem on autumn leaves.
Compose a ballad about a sailor.
Create a short story about friendship.
Create a poem that rhymes about robots.
Create a dialogue between two old friends who meet by chance.
Create a fantasy world with its history and peoples, in detail.
Generate a story about a haunted house.
Generate a poem with three stanzas about the sea.
Generate a song lyric about freedom.
Tell me a scary story.
Tell a tale about a brave mouse.
Continue this story: The door creaked open and
Finish the story: Once upon a time a king had no crown.
Imagine a world without electricity and describe a day there as a story.
Retell Cinderella from the stepsister's point of view.
Produce a 3000 word ebook chapter about dog training.
Draft the opening of a crime novel set in Oslo.
Come up with a short story about a lost letter.
make a poem about my dog rex
tell me a bedtime story
story about a dragon pls
Write a monologue of a dying star.
Write a movie plot about a heist in space, scene by scene.
Write lyrics for a lullaby.
Write an eulogy in verse for my goldfish.
""",
}

SINGLE: Final[dict[TaskType, tuple[str, ...]]] = {
    CODES[code]: tuple(lines.strip().split("\n")) for code, lines in (_LINES | MORE_LINES).items()
}
