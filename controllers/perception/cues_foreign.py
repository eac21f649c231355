"""Words of other languages by which a prompt gives its task away: stems, any inflection."""

from __future__ import annotations

from typing import Final

from hmas.engine.features import TaskType

FOREIGN: Final[dict[TaskType, tuple[str, ...]]] = {
    TaskType.TRANSLATION: (
        "翻译", "翻譯", "译成", "翻訳", "訳して", "traduire", "traduis", "traduction", "traduce",
        "traducir", "traduzca", "traducción", "traduz", "tradução", "traduci ", "traduzione",
        "tradurre", "übersetz", "перевед", "перевод", "번역", "ترجم", "अनुवाद", "çevir", "vertaal",
        "przetłumacz", "wie sagt man", "comment dit-on", "cómo se dice", "怎么说", "dịch ",
    ),
    TaskType.SUMMARIZATION: (
        "总结", "概括", "摘要", "归纳", "要約", "まとめて", "résume", "résumé", "resume el",
        "resume la", "resume este", "resumen", "resumir", "resuma o", "resumo", "riassum",
        "riassunto", "fasse zusammen", "zusammenfass", "fasse den", "fass den", "суммируй",
        "кратко", "краткое", "резюмируй", "요약", "لخص", "ملخص", "सारांश", "özetle", "samenvat",
        "streszcz", "tóm tắt",
    ),
    TaskType.EXTRACTION: (
        "提取", "抽取", "抽出", "分类", "情感", "extrahier", "liste alle", "klassifizier",
        "extrais", "extraire", "extrae", "extraer", "clasifica", "extraia", "extrair", "estrai",
        "classifica ", "извлеки", "извлечь", "классифицируй", "определи тональность", "추출",
        "분류", "استخرج", "صنف", "निकालें", "çıkar", "positiv oder negativ", "正面还是负面",
    ),
    TaskType.PARAPHRASING: (
        "改写", "润色", "重写", "修改语法", "言い換え", "書き直", "文法を", "添削", "umformulier",
        "formuliere", "umschreib", "korrigier", "verbesser", "schreibe den satz um", "reformul",
        "corrige les", "corrige la", "corrige el", "réécris", "paraphras", "parafrase",
        "reescrib", "reescrev", "riscriv", "riformula", "correggi", "corrija", "перефразируй",
        "перепиши", "исправь", "바꿔 써", "다시 써", "고쳐", "أعد صياغة", "صحح", "दोबारा लिख",
        "yeniden yaz", "düzelt", "herschrijf", "przeredaguj", "viết lại",
    ),
    TaskType.LETTER_DRAFTING: (
        "邮件", "求职信", "写一封信", "辞职信", "推荐信", "感谢信", "メールを", "手紙", "e-mail an",
        "einen brief", "bewerbungsschreiben", "anschreiben", "kündigung", "une lettre",
        "un e-mail", "un email", "un mail", "una carta", "un correo", "carta de", "um e-mail",
        "uma carta", "una lettera", "una mail", "письмо", "이메일", "편지", "사직서", "رسالة",
        "पत्र", "mektup", "een brief", "een e-mail", "e-mail à", "bức thư",
    ),
    TaskType.MATH_REASONING: (
        "解方程", "计算", "求解", "多少", "证明", "を解いて", "計算し", "löse die", "berechne",
        "wie viele", "wie viel", "gleichung", "beweise", "résous", "calcule", "combien",
        "équation", "resuelve", "calcula ", "cuánto", "cuánta", "ecuación", "resolva",
        "quanto custa",
        "risolvi", "calcola", "equazione", "реши", "вычисли", "сколько", "уравнение", "계산",
        "방정식", "몇 개", "احسب", "معادلة", "हल कर", "गणना", "çöz", "hesapla", "bereken",
    ),
    TaskType.ESSAY_GENERATION: (
        "作文", "议论文", "写一篇文章", "论述", "エッセイ", "小論文", "aufsatz", "essay über",
        "einen artikel", "erörterung", "une dissertation", "un essai", "un article", "un ensayo",
        "un artículo", "uma redação", "um ensaio", "um artigo", "un saggio", "un articolo",
        "un tema su", "эссе", "сочинение", "статью", "에세이", "글을 써", "مقال", "निबंध",
        "makale", "kompozisyon", "een opstel", "rozprawk", "bài văn", "bài luận",
    ),
    TaskType.LONG_FORM_GENERATION: (
        "故事", "写一首", "的诗", "小说", "剧本", "物語", "小説", "詩を", "geschichte über",
        "eine geschichte", "gedicht", "drehbuch", "roman über", "une histoire", "un conte",
        "un poème", "un roman", "un cuento", "una historia", "un poema", "un guion", "una novela",
        "uma história", "um poema", "um conto", "una storia", "un racconto", "una poesia",
        "рассказ", "стихотворение", "сказку", "сценарий", "роман", "이야기", "소설", "시를",
        "قصة", "قصيدة", "कहानी", "कविता", "hikaye", "şiir", "een verhaal", "een gedicht",
        "opowiadanie", "câu chuyện",
    ),
    TaskType.RESEARCH_AND_COMMUNICATION: (
        "研究报告", "市场调研", "文献综述", "参考文献", "调研", "文献調査", "調査報告", "市場調査",
        "forschungsbericht", "marktanalyse", "literaturübersicht", "pressemitteilung",
        "mit quellen", "revue de la littérature", "étude de marché", "rapport de recherche",
        "communiqué de presse", "informe de investigación", "estudio de mercado",
        "con referencias", "nota de prensa", "pesquisa de mercado", "revisão de literatura",
        "relatório de pesquisa", "rapporto di ricerca", "ricerca di mercato", "обзор научной",
        "обзор литературы", "исследование рынка", "пресс-релиз", "연구 보고서", "문헌 조사",
        "시장 조사", "تقرير بحث", "शोध", "araştırma raporu",
    ),
    TaskType.CODE_GENERATION: (
        "代码", "函数", "编程", "コード", "関数", "プログラム", "funktion in", "python-funktion",
        "quellcode", "fonction", "función", "programa en", "código", "função", "codice",
        "funzione", "функцию", "функция", "код", "программу", "코드", "함수", "كود", "دالة",
        "कोड", "kodu",
    ),
    TaskType.INSTRUCTION_FOLLOWING: (
        "给我", "列出", "建议", "制定", "推荐", "挙げて", "教えてください", "gib mir", "nenne",
        "erstelle", "schlage vor", "donne-moi", "donne moi", "fais une liste", "propose-moi",
        "crée un", "dame ", "haz una lista", "crea un", "sugiere", "enumera", "me dê",
        "crie um", "dammi", "fai una lista", "дай ", "составь", "предложи", "перечисли", "придумай",
        "알려 줘", "추천", "목록", "أعطني", "اقترح", "दीजिए", "listele", "geef me", "hãy liệt kê",
    ),
    TaskType.QA: (
        "什么是", "为什么", "怎么", "如何", "解释", "哪个", "とは", "なぜ", "どうして", "was ist",
        "warum", "wie funktioniert", "wer ist", "erkläre", "qu'est-ce", "pourquoi",
        "comment ça", "qui est", "explique", "qué es", "por qué", "cómo ", "quién", "cuándo",
        "o que é", "por que", "cos'è", "perché", "что такое", "почему", "как ",
        "кто ", "когда", "объясни", "뭐예요", "무엇", "왜 ", "ما هو", "ما هي", "لماذا", "क्या है",
        "क्यों", "nedir", "neden", "wat is", "waarom", "là gì",
    ),
    TaskType.DIALOGUE: (
        "你好", "您好", "谢谢", "你是谁", "早上好", "こんにちは", "ありがとう", "元気", "hallo",
        "guten morgen", "guten tag", "wie geht", "danke", "salut", "bonjour", "ça va", "merci",
        "hola", "gracias", "buenos días", "qué tal", "oi,", "olá", "obrigado", "tudo bem", "ciao",
        "grazie", "come stai", "привет", "спасибо", "как дела", "здравствуй", "안녕", "고마워",
        "감사합니다", "مرحبا", "شكرا", "كيف حالك", "नमस्ते", "धन्यवाद", "merhaba", "teşekkür",
    ),
}  # fmt: skip
"""A word is worth what a strong English cue is."""
