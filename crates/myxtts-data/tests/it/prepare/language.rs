//! The language of a dataset: given, or told by its letters.

use myxtts_data::prepare::{Report, earlier};

use super::support::{Dataset, Prepared};

fn prepared(language: Option<&str>, texts: &[&str]) -> (Dataset, Result<Prepared, String>) {
    let mut data = Dataset::new();
    for (n, text) in texts.iter().enumerate() {
        data.clip(&format!("c{n}"), 1.5, text);
    }
    let mut request = data.request();
    request.settings.language = language.map(str::to_owned);
    let prepared = data.prepare_as(&request);
    let prepared = prepared.map_err(|why| data.anonymous(why));
    (data, prepared)
}

const PERSIAN: [&str; 2] = ["زمین از برف پوشیده بود.", "حل شدن شکر در چای"];

#[test]
fn letters_decide_where_nobody_does() {
    let (data, found) = prepared(None, &PERSIAN);
    let Prepared { report, clips, .. } = found.unwrap();
    assert_eq!(report.language, "fa");
    assert!(clips.iter().all(|clip| clip.language == "fa"));
    assert_eq!(report.settings.language.as_deref(), Some("fa"));
    assert_eq!(report.rows[1].text, PERSIAN[1]);
    let mut request = data.request();
    assert!(earlier(&request).unwrap().is_some());
    request.settings.language = Some("fa".to_owned());
    assert!(earlier(&request).unwrap().is_some(), "the same by its name");

    let (_, found) = prepared(None, &["The baker carries seven apples."]);
    assert_eq!(found.unwrap().report.language, "en");
}

#[test]
fn letters_that_the_language_does_not_have_are_refused() {
    let (_, found) = prepared(Some("en"), &PERSIAN);
    insta::assert_snapshot!(found.err().unwrap(), @r"
    the texts of DATASET are not in the language `en`
      found: زمین از برف پوشیده بود.
      why:   2 of 2 have Arabic letters, but `en` is not written with them
      fix:   --language fa
    ");
    let (_, found) = prepared(None, &["Der Hund ist nicht auf der Straße."]);
    insta::assert_snapshot!(found.err().unwrap(), @r"
    which language are the texts of DATASET in?
      found: Der Hund ist nicht auf der Straße.
      why:   they have Latin letters and do not look like English
      fix:   --language de
    ");
}

#[test]
fn a_line_in_other_letters_is_left_out() {
    let texts = ["He came home at last.", "Nobody answered him.", PERSIAN[0]];
    let (_, found) = prepared(Some("en"), &texts);
    let Prepared {
        quarantined,
        report,
        ..
    } = found.unwrap();
    assert_eq!(report.kept, 2);
    assert_eq!(
        (quarantined[0].reason.as_str(), quarantined[0].why.as_str()),
        (
            "wrong_script",
            "the text has Arabic letters, but `en` is not written with them"
        )
    );
}

#[test]
fn the_next_command_says_what_was_used() {
    let mut data = Dataset::new();
    data.clip("a", 1.5, PERSIAN[0]);
    let mut request = data.request();
    let words = [
        "train",
        "--train-data",
        "my voice",
        "--max-mel-frames",
        "900",
    ];
    request.next = words.map(str::to_owned).to_vec();
    let next = |report: &Report| {
        let text = report.to_string();
        text.rsplit_once("Next\n  ").unwrap().1.trim().to_owned()
    };
    let report = data.prepare_as(&request).unwrap().report;
    assert_eq!(
        next(&report),
        "myxtts train --train-data 'my voice' --max-mel-frames 900 --language fa"
    );
}
