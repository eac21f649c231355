"""Explicit cues: what a prompt says of its own task, read in a bounded piece of it.

Each cue is a lower-case piece of text with a weight; the task with the largest sum wins when it
reaches ``MIN_SCORE`` and leads the runner-up. Plain substring search keeps a prompt of
2 KiB at some tens of microseconds, where alternations of the ``re`` module take milliseconds.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from hmas.controllers.perception.incoming import Prompt
from hmas.engine.features import TaskType

HEAD_CHARACTERS: Final = 700
TAIL_CHARACTERS: Final = 300
SYSTEM_CHARACTERS: Final = 300
MIN_SCORE: Final = 2
LONG_FORM_WORDS: Final = 1000
DIALOGUE_TURNS: Final = 4
NUMBERS_OF_A_WORD_PROBLEM: Final = 2

_NUMBER = re.compile(r"\d+")


class Cues(NamedTuple):
    """Cues of one task: strong ones decide alone, weak ones support each other.

    ``opening`` cues count only at the very beginning of the turn.
    """

    task_type: TaskType
    strong: tuple[str, ...] = ()
    weak: tuple[str, ...] = ()
    opening: tuple[str, ...] = ()


CUES: Final = (
    Cues(
        TaskType.CODE_GENERATION,
        strong=(
            "```",
            "\ndef ",
            "\nclass ",
            "#include <",
            "public static void",
            "write a function",
            "write a program",
            "write a script",
            "write code",
            "python function",
            "python script",
            "python code",
            "sql query",
            "unit test",
            "stack trace",
            "traceback (most recent",
            "fix the bug",
            "fix this bug",
            "refactor",
            "implement a ",
            "complete the code",
            "regular expression",
        ),
        weak=(
            "code",
            "function",
            "javascript",
            "typescript",
            "python",
            "rust",
            "golang",
            "html",
            "css",
            "sql",
            "java ",
            "c++",
            "compile",
            "debug",
            "algorithm",
            "return ",
            "import ",
            "():",
            "();",
        ),
        opening=("def ", "class ", "import ", "from ", "#include", "select "),
    ),
    Cues(
        TaskType.TRANSLATION,
        strong=(
            "translate",
            "translation of",
            "into english",
            "into french",
            "into german",
            "into spanish",
            "into chinese",
            "into japanese",
            "翻译",
            "翻訳",
            "traduire",
            "traduis",
            "traduce ",
            "übersetze",
            "переведи",
        ),
        weak=("in english", "in french", "in german", "in spanish", "in chinese"),
        opening=("translate",),
    ),
    Cues(
        TaskType.SUMMARIZATION,
        strong=(
            "summarize",
            "summarise",
            "summary of",
            "tl;dr",
            "tldr",
            "key points",
            "main points",
            "key takeaways",
            "in a nutshell",
            "总结",
            "要約",
            "résume ce",
            "fasse zusammen",
            "condense the",
        ),
        weak=("summary", "brief overview", "abstract", "shorten"),
        opening=("summarize", "summarise", "summary"),
    ),
    Cues(
        TaskType.EXTRACTION,
        strong=(
            "extract",
            "named entit",
            "as a json object with",
            "return json",
            "list all the ",
            "identify all ",
            "classify the",
            "classify this",
            "classify each",
            "what is the sentiment",
            "key-value pairs",
            "fill in the fields",
        ),
        weak=("entities", "json", "fields", "from the text", "from the following", "classify"),
        opening=("extract", "find all", "identify the", "classify"),
    ),
    Cues(
        TaskType.PARAPHRASING,
        strong=(
            "paraphrase",
            "rephrase",
            "reword",
            "rewrite the",
            "rewrite this",
            "proofread",
            "correct the grammar",
            "fix the grammar",
            "improve the wording",
            "make this sound",
            "in other words",
            "more concise",
            "more formal",
        ),
        weak=("rewrite", "grammar", "wording", "polish"),
        opening=("rewrite", "rephrase", "paraphrase", "edit this", "edit the"),
    ),
    Cues(
        TaskType.LETTER_DRAFTING,
        strong=(
            "cover letter",
            "write a letter",
            "write an email",
            "draft an email",
            "draft a letter",
            "write me an email",
            "compose an email",
            "letter of ",
            "resignation letter",
            "email to my",
            "reply to this email",
            "thank-you note",
        ),
        weak=("dear ", "sincerely", "regards", "email", "e-mail", "letter", "invitation"),
        opening=("dear ",),
    ),
    Cues(
        TaskType.MATH_REASONING,
        strong=(
            "solve for",
            "solve the equation",
            "step by step solution",
            "prove that",
            "\\frac",
            "\\boxed",
            "\\sum",
            "\\int",
            "$$",
            "how many more",
            "how many are left",
            "how many total",
            "how much money",
            "how much does",
            "what is the probability",
            "calculate",
            "derivative of",
            "integral of",
            "square root",
            "remainder when",
            "compute the",
        ),
        weak=(
            "equation",
            "how many",
            "how much",
            "percent",
            "%",
            " twice ",
            " half ",
            " times as",
            "total",
            "each ",
            "sum of",
            "average",
            "per hour",
            "triangle",
            "theorem",
            "$",
            " cost",
            " per ",
        ),
    ),
    Cues(
        TaskType.ESSAY_GENERATION,
        strong=(
            "write an essay",
            "argumentative essay",
            "persuasive essay",
            "five-paragraph",
            "write an opinion",
            "opinion piece",
            "write an article",
            "write a paragraph",
            "essay about",
            "essay on",
        ),
        weak=("essay", "thesis statement", "article", "paragraphs", "argue"),
    ),
    Cues(
        TaskType.LONG_FORM_GENERATION,
        strong=(
            "write a story",
            "write a short story",
            "write a novel",
            "write a chapter",
            "write a book",
            "write a script for",
            "screenplay",
            "write a poem",
            "fan fiction",
            "blog post",
            "continue the story",
            "write a long",
            "write a detailed",
            "comprehensive guide",
            "business plan",
            "whitepaper",
            "white paper",
        ),
        weak=("story", "chapter", "poem", "lyrics", "in detail", "detailed", "characters"),
        opening=("once upon",),
    ),
    Cues(
        TaskType.RESEARCH_AND_COMMUNICATION,
        strong=(
            "literature review",
            "research report",
            "research proposal",
            "market research",
            "competitive analysis",
            "press release",
            "cite sources",
            "with citations",
            "with references",
            "conduct research",
            "deep research",
            "state of the art in",
            "compare and contrast the research",
        ),
        weak=("research", "sources", "references", "stakeholder", "presentation", "report"),
    ),
    Cues(
        TaskType.QA,
        strong=("answer the question", "question:", "true or false", "multiple choice"),
        weak=("?",),
        opening=(
            "what ",
            "what's ",
            "who ",
            "when ",
            "where ",
            "which ",
            "why ",
            "is ",
            "are ",
            "does ",
            "do ",
            "can ",
            "how ",
            "answer the ",
        ),
    ),
    Cues(
        TaskType.INSTRUCTION_FOLLOWING,
        strong=("follow these instructions", "follow the instructions", "you must follow"),
        weak=("step 1", "1.", "must ", "do not ", "make sure", "instruction", "exactly"),
        opening=(
            "give me",
            "give ",
            "list ",
            "name ",
            "provide ",
            "write ",
            "create ",
            "generate ",
            "suggest ",
            "describe ",
            "explain ",
            "design ",
            "make ",
            "come up with",
            "tell me",
        ),
    ),
    Cues(
        TaskType.DIALOGUE,
        strong=("let's chat", "how are you", "pretend you are", "act as ", "i want you to act"),
        weak=("hello", "hi ", "hey", "thanks", "thank you", "i feel", "good morning"),
        opening=("hi", "hello", "hey", "thanks", "ok", "yes", "no,", "sure"),
    ),
)

STRONG, WEAK, OPENING = 3, 1, 2


def classify(prompt: Prompt) -> TaskType | None:
    """The task that the cues agree on, or None when they do not say."""
    scores = _scores(prompt)
    ranked = sorted(scores.items(), key=_by_score, reverse=True)
    best, score = ranked[0]
    if score < MIN_SCORE or score == ranked[1][1]:
        return _by_shape(prompt)
    return best


def _by_score(item: tuple[TaskType, int]) -> int:
    return item[1]


def _scores(prompt: Prompt) -> dict[TaskType, int]:
    text = bounded(prompt.text).lower()
    system = prompt.system[:SYSTEM_CHARACTERS].lower()
    opening = text.lstrip(" \t\r\n\"'#*->")
    scores = {cues.task_type: _score(cues, text, opening, system) for cues in CUES}
    if prompt.json_answer:
        scores[TaskType.EXTRACTION] += STRONG
    if prompt.tools:
        scores[TaskType.INSTRUCTION_FOLLOWING] += STRONG
    if _asks_for_many_words(text):
        scores[TaskType.LONG_FORM_GENERATION] += STRONG
    if text.rstrip().endswith("?"):
        word_problem = len(_NUMBER.findall(text)) >= NUMBERS_OF_A_WORD_PROBLEM
        scores[TaskType.MATH_REASONING if word_problem else TaskType.QA] += STRONG - WEAK
    return scores


def bounded(text: str) -> str:
    """Beginning and end of ``text``: instructions stand before or after the material."""
    if len(text) <= HEAD_CHARACTERS + TAIL_CHARACTERS:
        return text
    return text[:HEAD_CHARACTERS] + "\n" + text[-TAIL_CHARACTERS:]


def _score(cues: Cues, text: str, opening: str, system: str) -> int:
    strong = sum(cue in text for cue in cues.strong)
    weak = sum(cue in text for cue in cues.weak)
    score = STRONG * min(strong, 3) + WEAK * min(weak, 4)
    if opening.startswith(cues.opening):
        score += OPENING
    return score + sum(cue in system for cue in cues.strong[:12])


def _asks_for_many_words(text: str) -> bool:
    """``... in 2000 words``: the number right before the word ``words``."""
    before, found, _ = text.partition(" words")
    if not found:
        return False
    number = before[-8:].split(" ")[-1].split("-")[-1].replace(",", "")
    return number.isascii() and number.isdigit() and int(number) >= LONG_FORM_WORDS


def _by_shape(prompt: Prompt) -> TaskType | None:
    """A conversation under way is a dialogue, whatever its last turn says."""
    return TaskType.DIALOGUE if prompt.turns >= DIALOGUE_TURNS else None
