"""Makes number_words.tsv: what Python's num2words says, for the ranges we claim.

    pip install num2words==0.5.14
    python make_number_words.py > number_words.tsv
    python make_number_words.py --many 20000 > many.tsv   # NUMBER_WORDS_TABLE=many.tsv
"""

import random
import sys

from num2words import num2words

MANY = int(sys.argv[sys.argv.index("--many") + 1]) if "--many" in sys.argv else 0
CARDINAL = {"en": 10**36, "tr": 10**9, "hu": 10**9}
ORDINAL = {"en": 10**36, "ru": 5000, "pl": 1000, "cs": 0}

EDGES = sorted(
    set(range(0, 32))
    | {38, 40, 41, 50, 58, 60, 66, 70, 71, 77, 78, 80, 81, 88, 90, 91, 93, 98, 99}
    | {100, 101, 102, 103, 108, 110, 111, 116, 120, 121, 123, 133, 180, 188, 199, 200, 201, 300, 303}
    | {400, 500, 555, 600, 700, 800, 900, 903, 999, 1000, 1001, 1003, 1008, 1021, 1100, 1101, 1200, 1234}
    | {1900, 1999, 2000, 2001, 2024, 3000, 3003, 4000, 4004, 5000, 8000, 8008, 11000, 21000, 22000, 23000}
    | {80000, 81000, 99999, 100000, 100001, 101000, 111111, 121000, 123123, 200000, 200200, 221000}
    | {300300, 500000, 888888, 999999, 10**6, 10**6 + 1, 10**6 + 3, 1000100, 1001000, 1023023, 1100000}
    | {1200200, 1250000, 2 * 10**6, 2000002, 5 * 10**6, 21 * 10**6, 23 * 10**6, 80 * 10**6, 101 * 10**6}
    | {123456789, 200 * 10**6, 999999999, 10**9, 10**9 + 1, 1001001001, 2 * 10**9, 21 * 10**9, 123456789012}
    | {10**12, 10**12 + 10**6, 2 * 10**12, 999999999999999, 10**15, 123456789012345678, 10**21, 10**33}
)


def say(*args, **kwargs):
    """None where num2words fails: those are not rows of the table."""
    try:
        return num2words(*args, **kwargs)
    except NotImplementedError:
        return "not in reference" if kwargs.get("to") == "currency" else None
    except (IndexError, KeyError, OverflowError, ValueError, TypeError, RecursionError):
        return None


def sample(rng, limit):
    return rng.randrange(10 ** rng.randrange(1, len(str(limit)))) % limit


for lang in ["en", "de", "fr", "es", "it", "pt", "ru", "nl", "tr", "pl", "cs", "hu"]:
    rng = random.Random(f"myxtts {lang}")
    limit = CARDINAL.get(lang, 10**15)
    rows = [("cardinal", n) for n in EDGES if n < limit]
    rows += [("cardinal", sample(rng, limit)) for _ in range(60 + MANY)]
    limit = ORDINAL.get(lang, 10**6)
    no_zeroth = lang in ("es", "pt", "pl")
    keep = lambda n: n < limit and not (no_zeroth and n == 0) and not (lang == "pl" and n % 100 == 0)
    rows += [("ordinal", n) for n in EDGES if keep(n)]
    if limit:
        rows += [("ordinal", n) for n in (sample(rng, limit) for _ in range(40 + MANY)) if keep(n)]
    if lang != "tr":
        limit = {"ru": 10**6, "hu": 10**9}.get(lang, 10**12)
        decimals = ["0.5", "0.05", "0.001", "0.0001", "1.1", "1.10", "3.0", "12.5", "21.21", "99.99", "100.0", "2.675", "7.005"]
        decimals += ["1001.1", "123.3", "3.14159", "999999.9", "23.23", "101.01", "2.2", "5.11"]
        for _ in range(40 + MANY):
            places = rng.randrange(1, {"ru": 7, "hu": 4}.get(lang, 9))
            decimals.append(f"{sample(rng, limit)}.{rng.randrange(10**places):0{places}}")
        rows += [("decimal", text) for text in decimals]
    for currency in ["GBP", "USD", "EUR"]:
        amounts = [0, 1, 2, 5, 21, 22, 31, 100, 101, 120, 121, 500, 1000, 1001, 21000, 999999, 10**6, 10**6 + 1, 2 * 10**6]
        amounts = [f"{n}.0" for n in amounts] + ["0.01", "0.02", "0.21", "1.01", "1.5", "2.675", "2.685", "2.999", "31.31", "12345678.9"]
        amounts += [f"{sample(rng, 10**10 if lang not in ('tr', 'hu') else 10**8)}.{rng.randrange(100):02}" for _ in range(10 + MANY // 3)]
        rows += [(currency, text) for text in amounts]
    for kind, written in rows:
        if kind in ("cardinal", "ordinal"):
            words = say(written, lang=lang, to=kind)
        elif kind == "decimal":
            words = say(float(written), lang=lang)
        else:
            words = say(float(written), lang=lang, to="currency", currency=kind)
        if words is not None:
            print(lang, kind, written, words, sep="\t")
