"""Makes python_ids.tsv: the ids that Python's `tokenizers` gives with the vocabularies we wrote.

    pip install tokenizers==0.23.3
    python make_python_ids.py > python_ids.tsv      # in this folder
"""

import random

from tokenizers import Tokenizer

LINES = [line.rstrip("\n") for name in ("corpus_fa.txt", "corpus_en.txt") for line in open(name, encoding="utf-8")]
EXTRA = [
    "[fa]سلام دنیا",
    "[en]hello, world!",
    "[fa]می\u200cخواهم برم q",
    "x² e\u0301 ok?!...",
    "[STOP][UNK]a[SPACE]b [ fa] [fa",
    "[fa][en][START]",
    "سلام\u200c‌دنیا،خوب",
    "a\tb\nc",
    "日本語 のテスト",
    "it's 5:30_ok-no",
    "",
]
rng = random.Random("myxtts ids")
WORDS = [word for line in LINES for word in line.split()]
MIXED = [" ".join(rng.choice(WORDS) for _ in range(8)) for _ in range(40)]
GLUED = ["".join(rng.choice(WORDS) for _ in range(4)) for _ in range(20)]


def escape(text):
    return text.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n")


for name in ("trained_vocab.json", "grown_vocab.json"):
    tokenizer = Tokenizer.from_file(name)
    for text in LINES + EXTRA + MIXED + GLUED:
        ids = tokenizer.encode(text.replace(" ", "[SPACE]")).ids
        print(name, escape(text), " ".join(map(str, ids)), sep="\t")
