"""Makes reference_cleaning.tsv: what the Python reference's cleaner says to our sentences.

    pip install coqui-tts==0.28.0
    python make_reference_cleaning.py > reference_cleaning.tsv

A row whose reference raised an exception holds "raises" and the exception's name.
"""

import random

from TTS.tts.layers.xtts.tokenizer import multilingual_cleaners

SENTENCES = {
    "en": [
        "Mrs. Brown met Dr. Gray at St. Mary's, 3rd floor.",
        "mr.dr. and dr.mr. differ, xmr. stays.",
        "It cost $1,234.56, £20, 3€ or €1,000,000!",
        "5standard 21st 22nd 23rd 111th 1000th",
        "1,234abc 1,234.5x 12,345,678.9 1.2.3 1,23 12,34,567",
        "£..5 makes $5 stay unspoken",
        "$2.675 and $2.685 and $0.01 and £1.01 and £0.02",
        "99.5% of 7 & 8 @ 9 #10 at -5°",
        'He said "no" twice.',
        "3.0 and 3.10 and 0.05 and 100,25 and .5 and 5.",
        "Tabs\tand\nnew  lines   here ",
        "in 1999 and 2024, 007, 0, 00.50",
        "Capt. Col. Lt. Sgt. Maj. Gen. Rev. Hon. Esq. Ltd. Co. Jr. Ft. drs.",
        "Çaffe naïve ÉCOLE Straße ΣΑΣ",
        "(12) [13] {14} 15/16 17:18 19-20 21_22 a23 24b",
        "$5$6 £7£ 8€€9",
        "1,000,000,000 and 1,000,000,000,000.5",
        "",
        "!",
    ],
    "de": [
        "Am 1. Mai 2024 kamen 12,5 Prozent, 1.234.567 Leute & 3% mehr.",
        "Fr. Dr. Weber, St. Gallen, 20€ oder $5,50.",
        "3 500.250 10.30.1999 1st 2º",
        "100€ 101€ 1€ 21€",
    ],
    "fr": [
        "Mme. Petit habite au 2ème étage, le 1er mai, 3e rue.",
        "Cela fait 21€, 80€, 200,50€ et 71%.",
        "1.000.000 de francs & 12,75 @ 5°",
    ],
    "es": [
        "La Sra. Gil vive en el 3º piso, 1er mes, 4ª casa.",
        "Son 21€, 121£ y $1.000.000 & 50%.",
        "12,5 y 0,75 y 1.234,5",
    ],
    "it": [
        "Il Sig. Rossi, 1° piano, 3ª fila, 28€ e 23%.",
        "1.234 e 12,5 e 103 e £1",
    ],
    "pt": [
        "O Sr. Costa pagou 120€, 121€, 20€ e $5,50.",
        "2º andar, 3ª porta, 1.234,5 & 16%",
    ],
    "ru": [
        "Г-н Петров и г-жа Орлова, 1-й и 2-го, 12.5 и 1,234.",
        "20€ $5.50 £3 и 21%",
    ],
    "nl": ["Dhr. Bos woont op de 2de en 8ste, 20€, 12,5% & 1.234."],
    "tr": ["Dr. Ay 3.5 20inci 7üncü 5. İZMİR ÖĞLE ÜÇ Ilık 20€ %15"],
    "pl": ["P. Nowak i dr. Lis, 5th, 12,5% i 20€, $22 oraz £3."],
    "cs": ["Dr. Malý má 12,5% a 20€, 1.234 a $3."],
    "hu": ["Dr. Kis & b. nőv. @ #", "Az 1. és 2. ház, 3adik, 12,5% 1.234 20€ $5,50 2024."],
    "ar": ["قال & @ %"],
    "hi": ["यह & @ %"],
}

# Digits, marks and letters thrown together: the scanners must agree with the
# regular expressions on nonsense too.
PIECES = {
    "en": ["1", "23", "456", "7890", ",", ".", ",", ".", "$", "£", "€", "st", "th", " ", " ", "x", "mr.", "%", "-", "_", "é"],
    "de": ["1", "23", "456", "7890", ",", ".", ",", ".", "$", "€", ". ", " ", " ", "x", "dr.", "º", "-", "ß"],
    "fr": ["1", "23", "456", "7890", ",", ".", "$", "€", "£", "er", "ème", "e", " ", " ", "x", "mr."],
    "tr": ["1", "23", "456", "7890", ",", ".", "$", "€", "inci", " ", " ", "x", "dr."],
}


def row(lang, text):
    try:
        cleaned = multilingual_cleaners(text, lang)
    except Exception as error:
        cleaned = f"raises {type(error).__name__}"
    escape = lambda s: s.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n")
    print(lang, escape(text), escape(cleaned), sep="\t")


for lang, texts in SENTENCES.items():
    for text in texts:
        row(lang, text)
rng = random.Random("myxtts nonsense")
for lang, pieces in PIECES.items():
    for _ in range(120):
        row(lang, "".join(rng.choice(pieces) for _ in range(rng.randrange(1, 14))))
