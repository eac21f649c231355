"""Requests of our own, part five: more single prompts, one a line."""

from __future__ import annotations

from typing import Final

MORE_LINES: Final = {
    "E": """
Write an essay on why school uniforms are a good idea.
Write a short essay on the importance of honesty.
Write an essay of 300 words about my hero.
Write a paragraph about the benefits of reading.
Write a paragraph explaining why bees matter.
Write a few paragraphs on the history of Rome.
Write a persuasive paragraph on saving water.
Write an argument against the death penalty.
Write an article about healthy breakfasts.
Write an article for the school paper on bullying.
Write an opinion on whether phones belong in class.
Write about the influence of television on children.
Write about the importance of sleep.
Write an analysis of the character of Hamlet.
Write a book report on The Great Gatsby.
Write a speech for a graduation ceremony.
Write a speech on the environment.
Write a conclusion for an essay about voting.
Write a thesis statement about social media.
Write a comparison essay on city and country life.
Make a case for free public transport.
Make a persuasive argument for adopting shelter pets.
Argue for or against zoos.
Compose a paragraph on the meaning of courage.
Compose an article about the dangers of smoking.
Create an argument for a four-day week.
Generate a paragraph about global warming.
Generate an essay introduction on the theme of identity in 1984.
Develop an argument in favor of a universal basic income.
Essay on the causes of poverty
essay about friendship 250 words
Analyze the theme of ambition in Macbeth.
Produce an article on the future of farming.
Describe in an essay what freedom means to you.
Write a news article about a flood in the valley.
Write a critique of capitalism.
Write a review essay on the film Parasite.
i need a 5 paragraph essay on the civil war
""",
    "S": """
Summarize the plot of Romeo and Juliet.
Summarize the book The Hobbit in three sentences.
Summarize the main events of World War I.
Summarize the article below in one paragraph.
Summarize what the speaker says.
Summarize this email thread.
Summarize the given passage.
Give a summary of the movie Inception.
Give me a short summary of chapter one.
Provide a brief summary of the following speech.
Provide a one sentence summary of the study.
What is this article about?
What are the main points of the text above?
Sum up the paragraph in ten words or less.
Condense the following text to a tweet.
Outline the main ideas of this passage.
Write a summary of the following conversation.
Write a synopsis of the novel.
Write a short abstract of this paper.
Explain in two sentences what this document says.
Create a summary of the meeting notes.
Generate a summary of the report.
Shorten the following text.
tldr of this article please
Highlights of this report in bullets:
Describe the content of the article in a brief manner.
Boil this down to one line.
Recap the last episode for me.
Make a bullet point summary of the following lecture.
Please give me an overview of this contract.
Reduce this article to its key arguments.
Using the passage, summarize why the treaty failed.
Please summarize what Linkedin does.
Can you summarize the paragraph about the Battle of Hastings?
Given the reference text, give me a brief overview of the company's history.
""",
    "C": """
write a hello world program in C
Write a function to check if a number is prime.
Write a program that prints the first 20 primes.
Write a query to select all users older than 30.
Write an HTML page with a table.
Write CSS to make a button blue.
Write a class for a bank account.
Write an algorithm to find the shortest path in a graph.
Write a regex for dates.
Write a script that backs up a folder every night.
Create a function that returns the factorial of n.
Create a login form in HTML.
Create a SQL table for books.
Create a web page with a contact form.
Create a chatbot in Python.
Create an app in Flutter that shows the weather.
Generate code to read a file line by line.
Generate a SQL statement to delete duplicates.
Construct a for loop that counts down from 10.
Construct a SQL query that joins orders and customers.
Develop a program that converts Celsius to Fahrenheit.
Design an algorithm to sort a stack.
Implement quicksort.
Debug the following code.
Optimize this loop.
Explain this error: segmentation fault (core dumped)
What does the static keyword mean in Java?
What is a pointer in C++ and how do I use one?
How do I merge two branches in git?
How do I loop over a dictionary in Python?
how to read json in node js
How can I speed up my pandas code?
How to make an HTTP request in Go?
Convert this for loop to a list comprehension.
Convert the following JSON to a Python dataclass.
Rewrite this function in TypeScript.
Given an array of integers, return the indices of the two numbers that add up to a target.
Given a string s, find the length of the longest substring without repeating characters.
Build a snake game in Python with pygame.
I'm getting a 404 when I deploy my Flask app, what do I check?
my react component doesn't rerender when the state changes
Add error handling to this function.
Set up nginx as a reverse proxy for a node app, give me the config.
Write a unit test for the login controller.
Write a Terraform file for an S3 bucket.
Write a VBA macro that hides empty rows.
Write MATLAB code for a Fourier transform.
Print the numbers from 1 to 100 in bash.
""",
    "M": """
What is 17 times 23?
what is 20% of 85
Calculate the square root of 169.
Calculate the area of a triangle with base 6 and height 4.
Compute 3/4 + 5/6.
Convert 100 degrees Fahrenheit to Celsius.
Convert 5 feet 11 inches to centimeters.
Simplify (3x + 2y) - (x - y).
Solve the system: x + y = 5, x - y = 1.
Find the slope of the line through (1,2) and (3,8).
Find the value of y if 2y + 6 = 18.
Find the median of 3, 9, 4, 1, 7.
Find the greatest common divisor of 48 and 18.
Find the next term: 1, 4, 9, 16
Find the area of a square with a side of 5 cm.
Determine whether 91 is prime.
Determine the angles of an isosceles triangle with a top angle of 40 degrees.
Evaluate the integral of 1/x from 1 to e.
Prove that the square root of 2 is irrational.
Show that every group of prime order is cyclic.
How many seconds are in a week?
How many ways can 5 people sit in a row?
If 3 pens cost 4 dollars, how much do 12 pens cost?
A car goes 60 mph for 2.5 hours. How far does it go?
Jane has twice as many marbles as Bob; together they have 18. How many does Jane have?
The sum of two numbers is 30 and their difference is 4. What are they?
What is the probability of drawing two aces?
What is the volume of a sphere with radius 3?
What is the derivative of ln(x)?
Add 1/2 and 1/3.
Multiply 12 by 15.
Sum the numbers 4, 8, 15, 16, 23 and 42.
Estimate the total cost of 4 tickets at 12.50 each.
Work out the compound interest on 2000 dollars at 4% for 3 years.
Round 3.14159 to two decimals.
Reduce 36/48 to its simplest form.
Calculate the mean of this data set: 5, 9, 12, 20
Factor x^2 - 9.
Let a and b be reals with a+b=1. Maximize ab.
Calculate how long it takes to fill a 300 l tub at 12 l per minute.
""",
    "R": """
Research the history of the electric car and write a report with sources.
Research the top five competitors of Spotify and compare their pricing.
Write a literature review on mindfulness and stress.
Write a research paper outline on ocean acidification with references.
Write a research question and hypothesis about screen time.
Write a press release for our new smartwatch.
Write a market analysis of the coffee industry.
Write a report on renewable energy adoption in Europe.
Write a report about the effects of tourism on Venice, with data.
Write a policy paper on data privacy.
Write a proposal for a study on bilingual children.
Design an experiment to test whether plants grow faster with music.
Design a survey study on remote work and describe the statistics.
Conduct a SWOT analysis of Tesla.
Conduct a literature search on gene editing.
Find an article from 2020 on vertical farming and tell me what it says.
Find peer reviewed studies on intermittent fasting.
Search for recent papers on diffusion models and list them with links.
Gather statistics about youth unemployment in Spain and interpret them.
Collect evidence for and against the four-day week and cite it.
Prepare a briefing on the situation in the chip industry for the board.
Prepare slides with speaker notes on our quarterly results.
Prepare an investor update for Q3.
Analyze trends in the housing market of the last decade with sources.
Investigate the claim that 5G harms birds and report your sources.
Draft a communications strategy for a product recall.
Draft an abstract for a paper on battery recycling.
Draft a white paper summary and a press statement for the launch.
Provide an annotated bibliography on child labor.
Compile a list of studies on coffee and health with their sample sizes.
Develop a research plan for a thesis on urban heat.
What are the most cited papers on transfer learning? Give full references.
Write the related work section for a paper on recommender systems.
Do a competitor analysis for a meal kit company
Give a detailed market overview of e-bikes in Germany: players, shares, outlook.
Plan a systematic review on telemedicine: databases, keywords, criteria.
""",
    "L": """
Write a letter to my future self.
Write a letter to Santa from a six year old.
Write a letter to the editor about potholes.
Write a letter of apology for missing the wedding.
Write a letter to the bank to close my account.
Write a cover letter for an internship at NASA.
Write a short cover letter based on my resume.
Write a farewell email to my coworkers.
Write an email to my teacher that I am sick.
Write an email to cancel my subscription.
Write an email asking for feedback.
Write a reply to a customer whose parcel got lost.
Write a response to this job offer that accepts it.
Write a birthday card for my dad.
Write a wedding invitation.
Write a text message to cancel a date politely.
Write a reminder to a client who has not paid the invoice.
Draft a letter of intent for a PhD programme.
Draft a notice to tenants that the water is off on Monday.
Draft an email to invite people to a webinar on taxes.
Compose a letter of support for a visa application.
Compose an email to persuade my manager to let me work from home.
Create an email that asks for donations.
Create a thank you card message for a nurse.
Generate a complaint letter about a broken laptop.
Generate a welcome email for new users.
Help me answer this email from my boss.
Turn down a job offer by email.
email my landlord about the leak
resignation letter two weeks notice
Reply to this invitation and decline kindly.
Letter of recommendation for my student Anna
Dear team, can you turn this into a proper announcement email?
Say sorry to my friend in a short message.
""",
    "D": """
hey
hello there
Hi, I'm new here
how's it going?
What's new?
nice to meet you
I'm so tired today
I'm feeling lonely
I had a fight with my best friend, I feel awful.
You are funny
Do you like music?
Do you dream?
What do you do for fun?
tell me about yourself
can we just talk for a bit?
I love you
thank you so much!
thanks a lot, bye
ok
yes
no thanks
sounds good
wow, really?
I want you to act as a stand-up comedian and talk with me.
I want you to act as a life coach. My first sentence is: I feel stuck.
Act as my girlfriend and ask me about my day.
Let's role play. You are a pirate and I am your captive.
Pretend to be Sherlock Holmes and answer me as he would.
You are Yoda now. Greet me.
Imagine you are a barista and I am ordering a coffee.
Let's play 20 questions. You start.
Let's play truth or dare
What would you do if you were human?
Would you rather fly or be invisible?
If you could travel anywhere, where would you go?
My dog died yesterday.
I got the job!!!
I think I'm in love with my colleague.
guess what happened today
Why are you ignoring me?
Are you there?
You didn't answer my question.
good evening, chatbot
Customer: Hello! Agent: Hi, how can I help? Customer: My flight is late.
""",
    "T": """
Translate "good morning" to Italian
Translate the word freedom into ten languages.
Translate this poem into French.
Translate the sentence into Spanish: Where is the library?
Translate from English to German: I am looking for a job.
Translate into English: Quiero una cerveza.
Translate the following dialogue to Korean.
Translate the menu into English.
What does "c'est la vie" mean in English?
What is "thank you" in Japanese?
How do you say water in Arabic?
How do I say I'm sorry in Polish?
Say "happy birthday" in Swedish.
Give the Spanish equivalent of "break a leg".
Convert this text to Portuguese.
Give me the Latin translation of "seize the day".
Provide an English translation of: Guten Appetit
spanish translation: my house is your house
Can you put my CV into French?
into Dutch: we will call you back
Please write this in Chinese: I am allergic to nuts.
Translate my email to Russian please
Interpret this German sentence for me: Ich verstehe nur Bahnhof.
Turn the following English paragraph into Hindi.
""",
}
