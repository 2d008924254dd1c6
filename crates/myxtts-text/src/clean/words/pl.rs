//! Polish.

use super::float::Float;
use super::slavic::Cardinals;
use super::{
    Currency, Money, MoneyWords, Words, few_or_many, join, small, table, zeroes_then_number,
};

pub(super) const WORDS: Words = Words {
    cardinal,
    ordinal,
    decimal,
    money,
};

const CARDINALS: Cardinals = Cardinals {
    small: table(
        "zero jeden dwa trzy cztery pięć sześć siedem osiem dziewięć dziesięć jedenaście \
         dwanaście trzynaście czternaście piętnaście szesnaście siedemnaście osiemnaście \
         dziewiętnaście",
    ),
    tens: table(
        "_ _ dwadzieścia trzydzieści czterdzieści pięćdziesiąt sześćdziesiąt siedemdziesiąt \
         osiemdziesiąt dziewięćdziesiąt",
    ),
    hundreds: table(
        "_ sto dwieście trzysta czterysta pięćset sześćset siedemset osiemset dziewięćset",
    ),
    powers: [
        ["", "", ""],
        ["tysiąc", "tysiące", "tysięcy"],
        ["milion", "miliony", "milionów"],
        ["miliard", "miliardy", "miliardów"],
        ["bilion", "biliony", "bilionów"],
    ],
};
const SMALL_ORDINALS: [&str; 20] = table(
    "_ pierwszy drugi trzeci czwarty piąty szósty siódmy ósmy dziewiąty dziesiąty jedenasty \
     dwunasty trzynasty czternasty piętnasty szesnasty siedemnasty osiemnasty dziewiętnasty",
);
const TEN_ORDINALS: [&str; 10] = table(
    "_ _ dwudziesty trzydziesty czterdziesty pięćdziesiąty sześćdziesiąty siedemdziesiąty \
     osiemdziesiąty dziewięćdziesiąty",
);

fn cardinal(n: u128) -> Option<String> {
    CARDINALS.cardinal(n)
}

fn ordinal(n: u128) -> Option<String> {
    if n == 0 || n >= 1000 || n.is_multiple_of(100) {
        return None;
    }
    let n = small(n);
    let tens = n % 100;
    Some(if tens < 20 {
        join(&[CARDINALS.hundreds[n / 100], SMALL_ORDINALS[tens]], " ")
    } else {
        join(
            &[
                CARDINALS.hundreds[n / 100],
                TEN_ORDINALS[tens / 10],
                SMALL_ORDINALS[tens % 10],
            ],
            " ",
        )
    })
}

fn decimal(value: Float) -> Option<String> {
    zeroes_then_number(value, "przecinek", cardinal)
}

fn money(money: Money) -> MoneyWords {
    let unit = match money.currency {
        Currency::Pound => return MoneyWords::NotInReference,
        Currency::Dollar => [
            "dolar amerykański",
            "dolary amerykańskie",
            "dolarów amerykańskich",
        ],
        Currency::Euro => ["euro", "euro", "euro"],
    };
    let cents = u128::from(money.cents);
    let words = || {
        Some(format!(
            "{} {}, {} {}",
            cardinal(money.whole)?,
            unit[few_or_many(money.whole)],
            cardinal(cents)?,
            ["cent", "centy", "centów"][few_or_many(cents)],
        ))
    };
    words().into()
}
