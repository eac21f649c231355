"""Templates of our own, part three: other languages than English."""

from __future__ import annotations

from typing import Final

from hmas.bench.corpus.sample import CODES
from hmas.engine.features import TaskType

_TEXTS: Final = {
    "Q": (
        "Was ist {x}?", "Warum ist {x} wichtig?", "Qu'est-ce que {x} ?", "Pourquoi {x} ?",
        "¿Qué es {x}?", "¿Cómo funciona {x}?", "Что такое {x}?", "Почему важно {x}?",
        "什么是{x}?", "为什么{x}很重要?", "{x}とは何ですか?", "{x}はどうしてですか?",
        "O que é {x}?", "Cos'è {x}?", "{x}이 뭐예요?", "ما هو {x}؟", "{x} क्या है?", "{x} nedir?",
        "Erkläre mir {x}.", "Explique-moi {x}.", "解释一下{x}", "Wie funktioniert {x}?",
    ),
    "T": (
        "Übersetze ins Englische: {p}", "Bitte übersetze diesen Text ins Deutsche: {p}",
        "Traduis en anglais : {p}", "Traduisez ce texte en français : {p}",
        "Traduce al inglés: {p}", "Traduce el siguiente texto al español: {p}",
        "Переведи на английский: {p}", "Переведите текст на русский язык: {p}",
        "翻译成英文:{p}", "请把下面的句子翻译成中文:{p}", "英語に翻訳してください:{p}",
        "次の文を日本語に訳してください:{p}", "Traduza para o inglês: {p}",
        "Traduci in inglese: {p}",
        "영어로 번역해 주세요: {p}", "ترجم إلى الإنجليزية: {p}", "अंग्रेज़ी में अनुवाद करें: {p}",
        "İngilizceye çevir: {p}", "Wie sagt man auf Englisch: {p}?",
    ),
    "S": (
        "Fasse den folgenden Text zusammen: {p}", "Gib mir eine kurze Zusammenfassung: {p}",
        "Résume le texte suivant : {p}", "Fais un résumé de cet article : {p}",
        "Resume el siguiente texto: {p}", "Haz un resumen breve: {p}", "Кратко изложи текст: {p}",
        "Сделай краткое содержание: {p}", "总结以下内容:{p}", "请概括这段文字的主要内容:{p}",
        "次の文章を要約してください:{p}", "Resuma o texto a seguir: {p}", "Riassumi il testo: {p}",
        "다음 글을 요약해 주세요: {p}", "لخص النص التالي: {p}", "इस पाठ का सारांश लिखें: {p}",
        "Aşağıdaki metni özetle: {p}",
    ),
    "X": (
        "Extrahiere alle Namen aus dem Text: {p}", "Extrais tous les noms du texte : {p}",
        "Extrae las fechas del texto: {p}", "Извлеки из текста все имена: {p}",
        "从下面的文本中提取所有人名和地名:{p}", "文章から固有名詞を抽出してください:{p}",
        "Extraia as datas do texto: {p}", "Estrai i nomi dal testo: {p}",
        "다음 글에서 날짜를 모두 추출하세요: {p}", "判断这条评论的情感是正面还是负面:{p}",
        "Ist diese Bewertung positiv oder negativ? {p}", "استخرج الأسماء من النص: {p}",
    ),
    "P": (
        "Formuliere den Satz um: {p}", "Korrigiere die Grammatik: {p}", "Reformule ce texte : {p}",
        "Corrige les fautes : {p}", "Reescribe este párrafo: {p}", "Corrige la gramática: {p}",
        "Перефразируй: {p}", "Исправь ошибки в тексте: {p}", "改写这句话:{p}",
        "请润色下面的文字:{p}", "次の文を言い換えてください:{p}", "文法を直してください:{p}",
        "Reescreva este texto: {p}", "Riscrivi questa frase: {p}", "이 문장을 바꿔 써 주세요: {p}",
        "أعد صياغة الجملة: {p}",
    ),
    "L": (
        "Schreibe eine E-Mail an meinen Chef über {x}.", "Schreibe ein Bewerbungsschreiben.",
        "Verfasse einen Brief an das Finanzamt.", "Écris une lettre de motivation.",
        "Rédige un e-mail à mon client sur {x}.", "Escribe una carta de presentación.",
        "Redacta un correo para mi jefe sobre {x}.", "Напиши письмо начальнику про {x}.",
        "写一封邮件给老板,关于{x}", "帮我写一封求职信", "上司へのメールを書いてください。",
        "Escreva um e-mail para o cliente sobre {x}.", "Scrivi una lettera di reclamo.",
        "사직서를 써 주세요.", "اكتب رسالة إلى مديري حول {x}",
    ),
    "M": (
        "Löse die Gleichung {f}", "Berechne {f}", "Résous l'équation {f}", "Calcule {f}",
        "Resuelve la ecuación {f}", "Реши уравнение {f}", "解方程 {f}", "计算 {f}",
        "{f} を解いてください", "小明有5个苹果,又买了7个,一共有多少个?", "Resolva {f}",
        "Anna hat 12 Bonbons und gibt 5 ab. Wie viele hat sie noch?", "{f}를 계산하세요",
        "Pedro compra 3 libros a 12 euros cada uno. ¿Cuánto paga en total?", "Risolvi {f}",
    ),
    "E": (
        "Schreibe einen Aufsatz über {x}.", "Schreibe einen Artikel über {x}.",
        "Écris une dissertation sur {x}.", "Rédige un article sur {x}.",
        "Escribe un ensayo sobre {x}.", "Напиши эссе на тему {x}.", "写一篇关于{x}的作文",
        "写一篇关于{x}的议论文", "{x}についてのエッセイを書いてください。",
        "Escreva uma redação sobre {x}.",
        "Scrivi un saggio su {x}.", "{x}에 대한 에세이를 써 주세요.",
        "اكتب مقالا عن {x}",
    ),
    "F": (
        "Schreibe eine Geschichte über {x}.", "Schreibe ein Gedicht über {x}.",
        "Écris une histoire sur {x}.", "Écris un poème sur {x}.", "Escribe un cuento sobre {x}.",
        "Escribe un poema sobre {x}.", "Напиши рассказ про {x}.", "Напиши стихотворение о {x}.",
        "写一个关于{x}的故事", "写一首关于{x}的诗", "{x}についての物語を書いてください。",
        "Escreva uma história sobre {x}.", "Scrivi una storia su {x}.", "{x}에 대한 이야기를 써 줘",
        "اكتب قصة عن {x}", "写一篇小说的第一章,主题是{x}",
    ),
    "R": (
        "Schreibe einen Forschungsbericht über {x} mit Quellen.",
        "Rédige une revue de la littérature sur {x}.", "Haz un estudio de mercado sobre {x}.",
        "Escribe un informe de investigación sobre {x} con referencias.",
        "Напиши обзор научной литературы по теме {x}.", "写一份关于{x}的研究报告,附参考文献",
        "{x}に関する文献調査をしてください。", "Faça uma pesquisa de mercado sobre {x}.",
        "对{x}进行市场调研并写一份报告", "Erstelle eine Marktanalyse zu {x}.",
        "Schreibe eine Pressemitteilung über {x}.", "Scrivi un rapporto di ricerca su {x}.",
    ),
    "C": (
        "Schreibe eine Python-Funktion, die eine Liste sortiert.", "用Python写一个爬虫",
        "Écris une fonction en JavaScript qui inverse une chaîne.", "用Java实现快速排序",
        "Escribe un programa en C++ que sume dos números.", "Pythonでクイックソートを書いて",
        "Напиши функцию на Python, которая считает слова.", "这段代码有什么问题?\n{c}",
        "Was ist falsch an diesem Code?\n{c}", "Corrige este código:\n{c}",
        "Escreva uma consulta SQL para listar os clientes.", "Pourquoi cette erreur ?\n{c}",
        "파이썬으로 피보나치 함수를 작성해 줘",
        "Объясни этот код:\n{c}", "このコードを説明して:\n{c}",
    ),
    "I": (
        "Gib mir fünf Tipps für {x}.", "Nenne mir Ideen für einen Kindergeburtstag.",
        "Donne-moi cinq idées pour {x}.", "Fais une liste de courses pour la semaine.",
        "Dame cinco consejos sobre {x}.", "Crea un plan de entrenamiento.", "Составь план поездки.",
        "Дай пять советов про {x}.", "给我五个关于{x}的建议",
        "列出十个旅游景点", "帮我制定一个学习计划",
        "{x}のアイデアを5つ挙げてください。", "Me dê cinco dicas sobre {x}.",
        "Dammi cinque idee per {x}.",
        "{x}에 대한 팁 다섯 가지를 알려 줘", "أعطني خمس نصائح حول {x}",
    ),
    "D": (
        "Hallo, wie geht es dir?", "Guten Morgen!", "Danke, das war sehr nett.", "Salut, ça va ?",
        "Bonjour ! Tu t'appelles comment ?", "Hola, ¿cómo estás?", "Gracias, amigo.",
        "Привет, как дела?", "Спасибо!", "你好", "你是谁?", "谢谢你", "我今天心情不好",
        "こんにちは、元気ですか?", "ありがとう!", "Oi, tudo bem?",
        "Ciao, come stai?", "안녕하세요!",
        "مرحبا، كيف حالك؟", "नमस्ते, आप कैसे हैं?", "Ich bin heute traurig.", "Merhaba!",
    ),
}  # fmt: skip

TONGUES: Final[dict[TaskType, tuple[str, ...]]] = {
    CODES[code]: tuple(
        text.replace("{x}", "{foreign_topic}")
        .replace("{p}", "{mixed}")
        .replace("{f}", "{formula}")
        .replace("{c}", "{code}")
        for text in texts
    )
    for code, texts in _TEXTS.items()
}

FOREIGN_TOPICS: Final = (
    "Klimawandel", "Datenschutz", "Kaffee", "l'énergie solaire", "la liberté", "le sommeil",
    "la inflación", "la amistad", "el fútbol", "любовь", "космос", "интернет", "人工智能",
    "环境保护", "春天", "友情", "桜", "宇宙", "a educação", "il mare", "기후 변화", "الصداقة",
    "जल", "yapay zeka", "blockchain", "marketing", "Photosynthese", "健康", "家族",
)  # fmt: skip
