"""Templates of our own, part six: forms of whole requests, as programs and services send them."""

from __future__ import annotations

from typing import Final

from hmas.engine.features import TaskType

WORD_PROBLEMS: Final = (
    "{name} has {m} {objects} and gives {n} of them to {name2}. How many {objects} are left?",
    "{name} buys {n} {objects} for ${k} each and pays with a ${m} bill. How much change is there?",
    "A box holds {n} {objects}. How many boxes does {name} need for {m} {objects}?",
    "{name} earns ${k} an hour and works {n} hours a day. How much does she earn in {k} days?",
    "{name} is {n} years old. {name2} is twice as old. How old will {name2} be in {k} years?",
    "There are {m} {objects} in a shop. {n} are sold on Monday and half of the rest on Tuesday. "
    "How many {objects} remain?",
    "{name} reads {n} pages a day. Her book has {m} pages. After {k} days, how many are left?",
    "{name} and {name2} share {m} {objects} equally. {name} then loses {n}. How many has she?",
    "A farmer has {m} {objects}. Each week he sells {n} and gets {k} new ones. How many does he "
    "have after {n} weeks?",
    "{name} runs {n} miles every morning and {k} miles every evening. How far does she run in a "
    "week?",
    "The price of a coat was ${m}. It is reduced by {n}0%. What does it cost now?",
    "In a class of {m} students, {n} play football and three times as many swim. The others read."
    " How many students read?",
    "{name} baked {m} cookies. {name2} ate {n} of them, and the dog ate {k}. {name} sold the rest"
    " for $2 each. How much money did she make?",
    "If {name} saves ${n} every week, how many weeks does it take to buy {objects} for ${m}?",
    "A tank with {m} liters loses {n} liters every hour. How much water is in it after {k} hours?",
    "{name} drives {m} miles at {n}0 miles per hour. How long is she on the road?",
    "It takes {name} {n} minutes to paint one of the {objects}. How many hours for {m} of them?",
    "{name} has {n} brothers and {k} sisters. Each of them gets {n} {objects}. How many {objects} "
    "does the family have in all?",
    "At the store, {objects} cost ${n} each. {name} wants {m} of them but has only ${k}0. How many"
    " more dollars does he need?",
    "{name} started with {m} {objects}. On Friday she bought {n} more, and her brother took a "
    "third of them. How many does she have now?",
    "Each of {n} teams has {k} players. If every player drinks {n} bottles, what is the total "
    "number of bottles?",
    "{name} weighs {m} pounds, {k} pounds more than {name2}. What do they weigh together?",
)

CONTEXT_QUESTIONS: Final = (
    "{passage}\n\nQuestion: {question}\nAnswer:",
    "Context: {passage}\n\n{question}",
    "Read the following text and answer the question.\n{passage}\n{question}",
    "Background: {passage}\n\n{question}",
    "{passage}\nHere is a question about the text: {question} Choose between: {fact}, {topic}",
    "Use the paragraph to answer. {passage} Q: {question} A:",
    "{question}\nA. {fact}\nB. {topic}\nC. {thing}\nD. {topic2}\nAnswer:",
    "{sentence} {question}\n(A) {topic}\n(B) {fact}\n(C) {thing}\n(D) none of these\nAnswer:",
    "{sentence} is best described as\nA. {fact}.\nB. {topic}.\nC. {topic2}.\nD. {thing}.\nAnswer:",
    "{passage}\n\nWhich of the following is true?\nA. {sentence}\nB. {sentence}\nC. {sentence}\n"
    "D. {sentence}\nAnswer:",
    "Pick the best option to answer this question: {question}\n- {fact}\n- {topic}\n- {thing}",
    "{question} Options: {fact}, {topic}, {topic2}",
    "what was the {column} when the {column2} was {m}?",
    "Which {column} has a {column2} of {m} and {name} as {column}?",
    "How many {column}s are there for {name} with {column2} {n}?",
    "What is the total number of {column} in {place} for {column2} larger than {m}?",
    "How many {column} did {name} have in {m}?",
    "What is the total {column} of the {column2} with {n} or more?",
    "How many {column}s have {name} as the {column2}?",
    "What is the {column} number of the {column2} in {place}?",
    "When {place} is the {column} what is the {column2}?",
    "What {column} has {m} as the {column2}?",
    "what is the sum of {column} for {name} before {m}?",
    "Name the {column} for {column2} of {name}",
    "Who was the {column} in {place} with {column2} {n}?",
    "What is the lowest {column} when {name} scored {n}?",
    "Tell me the {column} of {place} when the {column2} is {m}-{n}",
    "How much {column} has {name} with a {column2} of {n}?",
)

CODE_FORMS: Final = (
    'def {snake}(values: list[int]) -> int:\n    """Return the {snake} of values.\n\n    >>> '
    '{snake}([1, 2, 3])\n    {n}\n    """\n',
    "from typing import List\n\n\ndef {snake}(a: str, b: str) -> List[str]:\n    ''' {sentence}\n"
    "    {snake}('a', 'b') == ['ab']\n    '''\n",
    'import math\n\ndef {snake}(x, n):\n    """Given {n} numbers, compute their {snake}."""\n',
    "// {sentence}\nfunction {snake}(items) {\n",
    "/** {sentence} */\npublic static int {snake}(int[] a, int k) {",
    "# write a test for this\nclass {snake}:\n    def run(self):\n        return {n}",
    "{code}\n\n# complete the rest",
)

TEAM_BRIEFS: Final = (
    "You are given a task and a plan of your manager. Follow the plan and solve the task.\n\n"
    "# Task\n{question}\n\n# Plan\n1. Search for reliable sources.\n2. Verify with the others.",
    "You are one of several experts. Work together to find out: {question} First collect "
    "information on {topic}, then check it, then report the result to the group.",
    "## General task\n{question}\n## Suggestions from the manager\nThe plan for this task: step 1,"
    " gather data about {topic}; step 2, validate; output format: one sentence.",
    "Initial plan: We want to answer the request below with our team (web surfer, coder, "
    "assistant). Request: {question}\nHere is a fact sheet to consider and the plan to follow.",
    "Group chat of agents. The task from the user is: {question} Each agent must use the "
    "suggestions of the manager and end with TERMINATE when the task is solved.",
    "Collect information step by step about {topic}. Task: {question} Constraints: cite the page"
    " that confirms it, and double-check the numbers.",
)

TOOL_REQUESTS: Final = (
    "What's the weather in {place} tomorrow?",
    "Find me flights from {place} to {place2} on May {n}.",
    "Get the stock price of Apple for the last {n} days",
    "Calculate the area of a triangle with base {n} and height {k}.",
    "Convert {m} US dollars to euros.",
    "Play some jazz in the living room",
    "Send an email to {name} that the meeting is at {n} pm.",
    "Create a file named report.txt in the folder docs and write '{sentence}' into it.",
    "Show me the directions from {place} to {place2}",
    "Book a hotel in {place} for {n} nights.",
    "Look up the user with id {m} and list his orders.",
    "Move final_report.pdf to the temp directory and sort it by line.",
    "Search for a {n} bedroom house in {place} below {m}0000 dollars",
    "Can you find restaurants in {place} with a rating above {n}?",
    "What is the factorial of {n}?",
    "Who won the match between {name} and {name2}?",
    "I'd like to order {n} burgers and {k} cokes for delivery",
    "Post a tweet saying '{sentence}'",
    "Which of my tickets are still open? Close number {m}.",
    "Remember that my name is {name} and that I work in {place}.",
    "{question}",
    "{fact}",
)
"""Sent with function schemas, in the first turn."""

SERVICE: Final = (
    "Hi, I'd like to change my reservation.",
    "Hello, I need help with a booking from {place} to {place2}.",
    "Hi! I want to cancel my order and get a refund please.",
    "My user id is {name}_{m}.",
    "Sure, it's {name}_{m}. And the order number is #W{m}{k}.",
    "Hey there, I have a problem with my last delivery, the {objects} are missing.",
    "Yes, that's correct. Please go ahead.",
    "I would like the cheapest option, in economy. No insurance.",
    "Can I pay with my gift card ending in {m}?",
    "No, I don't remember my email. My name is {name} and I live in {place}.",
    "Alright, then please use the credit card instead.",
    "I'm calling about my flight on May {n}, it was delayed and I want a compensation.",
    "Okay, thank you. That would be all.",
    "1. One way\n2. {place} to {place2}\n3. {n} passengers\n4. May {k}",
    "How many bags can I bring with my membership?",
    "Could you check whether there is a direct flight in the morning?",
    "Hmm, I was told something else last week. Can you look again?",
    "Hi, I am {name}. I want to add {n} checked bags to my upcoming trip.",
    "I don't want to give any other information. What is the refund?",
)
"""A customer with an agent that has a policy and tools."""

POLICIES: Final = (
    "# Retail agent policy\n\nYou can help users cancel or modify pending orders, return "
    "delivered orders, and give information. Authenticate the user first.",
    "You are a customer service agent of a hotel chain. Today is May 3. Follow the policy: "
    "confirm before each booking, never share internal information.",
    "Bank support policy. The current time is 10:00 EST. Obtain the user id first, make one "
    "tool call at a time, transfer to a human when a request is out of scope.",
)

REVIEW_QUESTIONS: Final = (
    "{passage}\nIs this review positive or not?",
    "Is the following review negative? {passage}",
    "Title: {sentence} Review: {passage} Does the author seem satisfied with the product?",
    "{passage} Based on this, would this user recommend it?",
    "Would you say that this text is written in a positive tone? {passage}",
    "Which concepts occur in this sentence? {sentence}",
    "Topics of the following sentence: {sentence}",
    "{passage} The sentiment of this text is",
)

COMPOSITIONS: Final = (
    "Put these words together in a sentence: {objects}, {column}, {column2}",
    "Form one sentence out of the concepts {objects}, {column} and {snake}.",
    "Write a sentence about these things: {objects}, {column}, {place}",
    "Can you make a sentence with the following words? {column}; {column2}; {objects}",
    "Given the list of concepts [{objects}, {column}, {place}], generate a sentence that uses all.",
)

FORMS: Final = {
    TaskType.EXTRACTION: REVIEW_QUESTIONS,
    TaskType.INSTRUCTION_FOLLOWING: COMPOSITIONS,
    TaskType.MATH_REASONING: WORD_PROBLEMS,
    TaskType.QA: CONTEXT_QUESTIONS,
    TaskType.CODE_GENERATION: CODE_FORMS,
    TaskType.RESEARCH_AND_COMMUNICATION: TEAM_BRIEFS,
}

NAMES: Final = ("Anna", "Tom", "Maria", "Jamal", "Wei", "Olga", "Ravi", "Sofia", "Ben", "Carla")
OBJECTS: Final = ("apples", "marbles", "books", "cookies", "pencils", "eggs", "tickets", "chairs")
COLUMNS: Final = (
    "year", "score", "team", "opponent", "date", "venue", "position", "player", "season",
    "attendance", "result", "rank", "population", "district", "party", "record", "title", "points",
)  # fmt: skip
SNAKES: Final = (
    "max_gap", "count_vowels", "is_sorted", "rolling_sum", "closest_pair", "parse_tokens",
    "flatten", "remove_odd", "word_lengths", "mirror",
)  # fmt: skip
