"""More English words by which a prompt gives its task away: strong ones, then weak ones."""

from __future__ import annotations

from typing import Final

from hmas.engine.features import TaskType

_LANGUAGES: Final = (
    "english", "french", "german", "spanish", "japanese", "chinese", "mandarin", "italian",
    "portuguese", "russian", "arabic", "hindi", "korean", "dutch", "turkish", "polish", "latin",
    "swedish", "vietnamese", "urdu", "greek", "hebrew", "bengali", "thai", "indonesian", "tamil",
    "ukrainian", "czech", "danish", "finnish", "norwegian", "persian", "romanian", "hungarian",
    "swahili", "tagalog", "punjabi", "telugu", "marathi", "esperanto",
)  # fmt: skip

STRONG: Final[dict[TaskType, tuple[str, ...]]] = {
    TaskType.TRANSLATION: (
        "how do you say", "how do i say", "how would you say", "translator", "mean in english",
        *(
            pattern.format(language)
            for language in _LANGUAGES
            for pattern in ("into {}", "to {}:", "to {}\n", "the {} for", "{} translation",
                            "{} version", "{} equivalent", "in {}?", "in {}:", "in {},")
        ),
    ),
    TaskType.SUMMARIZATION: (
        "sum up", "sum this up", "main idea", "main takeaway", "takeaways", "the gist", "recap",
        "boil this", "boil the", "short version", "synopsis", "executive summary", "condense",
        "brief summary", "short summary", "most important points", "brief overview of this",
        "what is this article about", "meeting minutes", "write an abstract",
    ),
    TaskType.EXTRACTION: (
        "categorize", "categorise", "positive or negative", "positive, negative", "pull out",
        "fact or an opinion", "fact or opinion", "spam or", "part of speech", "parts of speech",
        "list every", "identify which", "sentiment", "tag each", "label each", "label the",
        "mentioned in the text", "mentioned in this", "detect if", "detect whether", "keywords",
        "separate the following", "return a json", "find all the", "find all dates",
        "are mentioned", "into two groups", "into two categories", "sarcastic", "toxic",
    ),
    TaskType.PARAPHRASING: (
        "rewrite", "re-write", "edit the following", "edit the sentence", "edit this", "reworded",
        "improve the flow", "passive voice", "active voice", "past tense", "present tense",
        "future tense", "third person", "grammatical", "grammar", "spelling mistakes",
        "spelling errors", "make it sound", "sound more", "sound better", "restate",
        "different words", "your own words", "say this differently", "another way",
        "polish my", "polish this", "clearer", "more polite", "combine these two sentences",
        "replace the word", "without changing the meaning", "humanize", "fix my english",
    ),
    TaskType.LETTER_DRAFTING: (
        "an email", "a letter", "letter to", "message to", "reply to this", "invitation",
        "thank you note", "thank you card", "memo to", "newsletter", "resign", "out-of-office",
        "email template", "e-mail to", "email to", "email asking", "condolence", "cold email",
    ),
    TaskType.MATH_REASONING: (
        "solve the", "solve this equation", "evaluate the integral", "simplify the expression",
        "factor the", "perimeter", "area of a", "volume of a", "mean of", "median of",
        "percentage of", "probability that", "probability of", "eigenvalue", "determinant",
        "prime number", "polynomial", "next number in", "convert the following measurement",
        "celsius", "miles per hour", "compound interest", "sum of two numbers", "how fast",
        "how far does", "how long does it take", "simplify (", "solve x", "find x",
    ),
    TaskType.ESSAY_GENERATION: (
        "an essay", "essay", "paragraph about", "paragraph on", "paragraph describing",
        "paragraphs about", "paragraphs on", "argument for", "argument in favor", "argue for",
        "argue that", "argue against", "argument against", "speech about", "speech on",
        "thesis statement", "op-ed", "editorial", "persuasive argument", "article about",
        "article on", "debate speech", "book report", "critical analysis",
    ),
    TaskType.LONG_FORM_GENERATION: (
        "poem", "haiku", "a story", "short story", "story about", "lyrics", "song about",
        "rap about", "limerick", "sonnet", "a novel", "fairy tale", "script for", "script of",
        "a blog", "dialogue between", "conversation between", "narrative", "monologue",
        "a chapter", "first chapter", "bedtime story", "fanfiction", "in the style of",
        "rap battle", "ballad", "fantasy tale", "white paper", "ebook", "opening scene",
    ),
    TaskType.RESEARCH_AND_COMMUNICATION: (
        "market analysis", "swot", "case study", "studies on", "studies about", "papers on",
        "papers about", "hypothesis", "bibliography", "with sources", "cite at least",
        "policy brief", "for stakeholders", "grant application", "fact-check", "report on",
        "report about", "design an experiment", "design a study", "peer reviewed",
        "speaker notes", "investor", "methodology", "research agent", "communication plan",
        "search the web", "your manager", "assembled the following team", "public statement",
    ),
    TaskType.CODE_GENERATION: (
        "in python", "in javascript", "javascript", "typescript", "in java", "in c++", "in rust",
        "sql", "regex", "function that", "function to", "code to", "code that", "code for",
        "code snippet", "script that", "script to", "program that", "program to", "for loop",
        "dockerfile", "in bash", "bash script", "excel formula", "unit tests", "compiler",
        "exception", "null pointer", "react component", "rest api", "algorithm to",
        "algorithm that", "pseudocode", "leetcode", "html", " css", "web page", "numpy", "pandas",
    ),
    TaskType.INSTRUCTION_FOLLOWING: (
        "ideas for", "checklist", "itinerary", "recipe for", "workout", "meal plan", "tips for",
        "slogan", "tagline", "hashtag", "caption", "brainstorm", "come up with", "lesson plan",
        "a quiz", "names for", "a name for", "product description", "job description",
        "step by step instructions", "packing list", "shopping list", "to-do list",
    ),
    TaskType.QA: (
        "difference between", "differences between", "tell me about", "based on the text",
        "based on this text", "given a reference text", "according to the", "compare and contrast",
    ),
    TaskType.DIALOGUE: (
        "i'm feeling", "i am feeling", "let's talk", "let's play", "role play", "roleplay",
        "how's it going", "nice to meet", "good night", "stay in character", "how was your",
        "are you human", "who are you", "do you like", "do you have feelings", "what's up",
        "tell me about yourself", "talk to me", "chat about",
    ),
}  # fmt: skip

WEAK: Final[dict[TaskType, tuple[str, ...]]] = {
    TaskType.QA: ("explain", "define", "what is", "what are", "how does"),
    TaskType.INSTRUCTION_FOLLOWING: ("list of", "suggest", "recommend", "tips", "joke", "plan "),
    TaskType.RESEARCH_AND_COMMUNICATION: ("statistics", "analysis", "findings", "trends"),
    TaskType.CODE_GENERATION: ("error", "array", "script", "class ", "database", "git "),
    TaskType.MATH_REASONING: ("solve", "simplify", "find the value", "area", "x^", "equals"),
    TaskType.EXTRACTION: ("identify", "detect", "in this text", "label", "tag "),
    TaskType.DIALOGUE: ("lol", "haha", "i love you", "sorry", "yes please", "my name is"),
}
