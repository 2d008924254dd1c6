//! Dataset folders as people have them.

use std::fs;
use std::path::Path;

use myxtts_data::layout::{Columns, Entry, Layout, Split, detect, rows};

struct Folder(tempfile::TempDir);

impl Folder {
    fn new(files: &[(&str, &[u8])]) -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        for (name, bytes) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
        folder
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    /// Every row, with the folder's own path taken out.
    fn rows(&self) -> Vec<String> {
        self.rows_as(None)
    }

    fn rows_as(&self, columns: Option<&Columns>) -> Vec<String> {
        let layout = detect(self.path(), columns).unwrap();
        let show = |path: &Path| {
            path.strip_prefix(self.path())
                .unwrap_or(path)
                .display()
                .to_string()
        };
        let good = |entry: Entry| {
            let mut line = format!("{}: {}", show(&entry.audio), entry.text);
            for part in [entry.speaker, entry.language].into_iter().flatten() {
                line.push_str(&format!(" ({part})"));
            }
            if entry.split == Some(Split::Validation) {
                line.push_str(" [validation]");
            }
            line
        };
        let found = rows(&layout).unwrap().map(|row| match row.unwrap() {
            Ok(entry) => good(entry),
            Err(bad) => {
                let why = bad.why.replace(&self.path().display().to_string(), "DIR");
                format!("BAD {}:{}: {why}", show(&bad.place.file), bad.place.line)
            }
        });
        found.collect()
    }

    fn refusal(&self) -> String {
        self.refusal_of(None)
    }

    fn refusal_of(&self, columns: Option<&Columns>) -> String {
        let text = detect(self.path(), columns).unwrap_err().to_string();
        text.replace(&self.path().display().to_string(), "DIR")
    }
}

const WAV: &[u8] = b"";

#[test]
fn ljspeech() {
    let folder = Folder::new(&[
        ("wavs/LJ1.wav", WAV),
        ("wavs/LJ2.flac", WAV),
        (
            "metadata.csv",
            b"LJ1|It cost $2|It cost two dollars\nLJ2|\"He said\" so|\nLJ3|gone\n\nLJ4\n",
        ),
    ]);
    assert_eq!(
        folder.rows(),
        [
            "wavs/LJ1.wav: It cost two dollars",
            "wavs/LJ2.flac: \"He said\" so",
            "wavs/LJ3.wav: gone",
            "BAD metadata.csv:5: the line has no text column",
        ]
    );
}

/// Read as LJSpeech, every transcript would be the speaker's name.
#[test]
fn ids_with_texts_and_speakers() {
    let lines = b"LJ1|He came home at last.|ann\nLJ2|Nobody answered him.|bob\n";
    let folder = Folder::new(&[
        ("wavs/LJ1.wav", WAV),
        ("wavs/LJ2.wav", WAV),
        ("metadata.csv", lines),
    ]);
    assert_eq!(
        folder.rows(),
        [
            "wavs/LJ1.wav: He came home at last. (ann)",
            "wavs/LJ2.wav: Nobody answered him. (bob)"
        ]
    );
    let columns = Columns::named(&["id", "speaker", "text"]).unwrap();
    assert_eq!(
        folder.rows_as(Some(&columns)),
        [
            "wavs/LJ1.wav: ann (He came home at last.)",
            "wavs/LJ2.wav: bob (Nobody answered him.)"
        ],
        "what a person says is done"
    );
    let columns = Columns::named(&["id", "-", "-", "text"]).unwrap();
    insta::assert_snapshot!(folder.refusal_of(Some(&columns)), @r"
    --columns id,-,-,text names 4 columns, but the lines of DIR/metadata.csv have 3
      found: LJ1|He came home at last.|ann
      fix:   name exactly the columns that the lines have
    ");
}

#[test]
fn columns_that_may_be_read_in_two_ways_are_asked_for() {
    let folder = Folder::new(&[
        ("wavs/1.wav", WAV),
        (
            "metadata.csv",
            b"1|seven|jackson\n2|one|theo\n3|nine|jackson\n",
        ),
    ]);
    insta::assert_snapshot!(folder.refusal(), @r"
    what do the columns of DIR/metadata.csv hold? columns 2 and 3 hold short values, and any of them may be the spoken text
      found: 1|seven|jackson
      fix:   name the columns in order, for example --columns id,text,speaker; the names are id, text, speaker, language, written, and - for a column that is not used
    ");
    let columns = Columns::named(&["id", "text", "speaker"]).unwrap();
    assert_eq!(
        folder.rows_as(Some(&columns))[0],
        "wavs/1.wav: seven (jackson)"
    );

    let pairs = Folder::new(&[("a.wav", WAV), ("a.txt", b"one")]);
    insta::assert_snapshot!(pairs.refusal_of(Some(&columns)), @r"
    --columns is for tables, but DIR is a folder of recordings with a .txt beside each
      fix:   leave --columns out
    ");
}

#[test]
fn a_header_with_ids() {
    let folder = Folder::new(&[
        ("wavs/a.flac", WAV),
        ("metadata.csv", b"id|speaker|text\na|ann|one two\n"),
    ]);
    assert_eq!(folder.rows(), ["wavs/a.flac: one two (ann)"]);
    let columns = Columns::named(&["id", "-", "text"]).unwrap();
    assert_eq!(folder.rows_as(Some(&columns)), ["wavs/a.flac: one two"]);
}

#[cfg(unix)]
#[test]
fn a_backslash_in_a_name_is_read_where_the_file_exists() {
    let folder = Folder::new(&[
        ("clips\\a.wav", WAV),
        ("clips/b.wav", WAV),
        (
            "list.txt",
            b"clips\\a.wav|one\nclips\\b.wav|two\nclips\\c.wav|three\n",
        ),
    ]);
    assert_eq!(
        folder.rows(),
        [
            "clips\\a.wav: one",
            "clips/b.wav: two",
            "clips/c.wav: three"
        ]
    );
}

#[cfg(unix)]
#[test]
fn links_that_lead_back_are_followed_once() {
    let folder = Folder::new(&[("real/a.wav", WAV), ("real/a.txt", b"one")]);
    let link = |target: &str, name: &str| {
        std::os::unix::fs::symlink(target, folder.path().join(name)).unwrap();
    };
    // Eight deep, twenty links would be twenty-five thousand million visits.
    for n in 0..20 {
        link(".", &format!("again_{n}"));
    }
    link("real", "alias");
    assert_eq!(folder.rows(), ["real/a.wav: one"]);
}

#[test]
fn train_and_eval_files() {
    let folder = Folder::new(&[
        (
            "metadata_train.csv",
            b"audio_file|text|speaker_name\nwavs/a.wav|one|ann\n",
        ),
        (
            "metadata_eval.csv",
            b"audio_file|text|speaker_name\nwavs/b.wav|two|bob\n",
        ),
    ]);
    assert_eq!(
        folder.rows(),
        [
            "wavs/a.wav: one (ann)",
            "wavs/b.wav: two (bob) [validation]"
        ]
    );
}

#[test]
fn a_csv_with_a_header_beside_a_wavs_folder() {
    let folder = Folder::new(&[
        ("wavs/a.wav", WAV),
        (
            "metadata.csv",
            b"audio_file,text,language\na.wav,\"one, two\",fa\n",
        ),
    ]);
    assert_eq!(folder.rows(), ["wavs/a.wav: one, two (fa)"]);
}

#[test]
fn a_file_list() {
    let list =
        b"clips/a.wav|He came home.|bob|en\nclips/b.wav|Nobody saw it.|bob|en\nclips/c.wav|gone\n";
    let folder = Folder::new(&[("list.txt", list)]);
    assert_eq!(
        folder.rows(),
        [
            "clips/a.wav: He came home. (bob) (en)",
            "clips/b.wav: Nobody saw it. (bob) (en)",
            "clips/c.wav: gone"
        ]
    );
}

#[test]
fn windows_paths_line_ends_and_a_byte_order_mark() {
    let folder = Folder::new(&[
        ("clips/a.wav", WAV),
        (
            "list.csv",
            "\u{feff}audio;text\r\nclips\\a.wav;یک\r\n".as_bytes(),
        ),
    ]);
    assert_eq!(folder.rows(), ["clips/a.wav: یک"]);
}

#[test]
fn absolute_paths_stay_absolute() {
    let folder = Folder::new(&[("list.txt", b"/data/a.wav|one\n")]);
    assert_eq!(folder.rows(), ["/data/a.wav: one"]);
}

#[test]
fn recordings_with_texts() {
    let folder = Folder::new(&[
        ("b.wav", WAV),
        ("b.txt", "\u{feff}two\nlines\n".as_bytes()),
        ("deep/a.mp3", WAV),
        ("deep/a.txt", b"one"),
        ("c.wav", WAV),
        ("d.wav", WAV),
        ("d.txt", b"\xff"),
        ("notes.md", b"not a clip"),
    ]);
    assert_eq!(
        folder.rows(),
        [
            "b.wav: two lines",
            "BAD c.txt:1: the text beside DIR/c.wav: No such file or directory (os error 2)",
            "BAD d.txt:1: byte 1 of the text is not UTF-8",
            "deep/a.mp3: one",
        ]
    );
}

#[test]
fn json_lines() {
    let folder = Folder::new(&[(
        "manifest.jsonl",
        b"{\"audio\": \"a.wav\", \"text\": \"one\", \"speaker\": \"ann\", \"split\": \"validation\"}\n\
          {\"audio_filepath\": \"b.wav\", \"text\": \"two\", \"duration\": 1.5}\n{\"text\": \"three\"}\nfour\n",
    )]);
    let rows = folder.rows();
    assert_eq!(rows[..2], ["a.wav: one (ann) [validation]", "b.wav: two"]);
    assert!(rows[2].starts_with("BAD manifest.jsonl:3: not a JSON object with audio and text"));
    assert!(rows[3].starts_with("BAD manifest.jsonl:4: not a JSON object"));
    assert_eq!(rows.len(), 4);
}

#[test]
fn bad_bytes_and_giant_lines_lose_only_themselves() {
    let mut metadata = b"a.wav|one\n".to_vec();
    metadata.extend_from_slice(b"b.wav|caf\xe9\n");
    metadata.extend_from_slice(b"c.wav|");
    metadata.extend(std::iter::repeat_n(b'x', 1 << 20));
    metadata.extend_from_slice(b"\nd.wav|four");
    let folder = Folder::new(&[("list.txt", &metadata)]);
    assert_eq!(
        folder.rows(),
        [
            "a.wav: one",
            "BAD list.txt:2: byte 10 of the line is not UTF-8; save the file as UTF-8",
            "BAD list.txt:3: the line has 1048583 bytes, but at most 65536 are read",
            "d.wav: four",
        ]
    );
}

#[test]
fn a_folder_named_like_a_recording_and_a_link_that_loops_are_rows() {
    let folder = Folder::new(&[
        ("a.wav/inside.txt", b""),
        ("a.txt", b"one"),
        ("b.wav", WAV),
        ("b.txt", b"two"),
    ]);
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("loop.wav", folder.path().join("loop.wav")).unwrap();
        fs::write(folder.path().join("loop.txt"), "three").unwrap();
        std::os::unix::fs::symlink(".", folder.path().join("again")).unwrap();
    }
    let rows = folder.rows();
    assert!(rows.contains(&"a.wav: one".to_owned()), "{rows:?}");
    assert!(rows.contains(&"b.wav: two".to_owned()));
    #[cfg(unix)]
    assert!(rows.contains(&"loop.wav: three".to_owned()));
}

#[test]
fn what_is_no_dataset_is_refused_with_what_would_be() {
    let empty = Folder::new(&[]);
    insta::assert_snapshot!(empty.refusal(), @"
    no dataset in DIR
      found: 0 recordings and no text for them
      fix:   put one of these there: metadata.csv with a wavs/ folder; metadata_train.csv and metadata_eval.csv; a CSV or text file of `audio|text` lines; a .jsonl manifest; or recordings with a .txt beside each
    ");
    let two = Folder::new(&[("one.csv", b""), ("two.csv", b"")]);
    assert!(
        two.refusal()
            .contains("2 text files and no way to tell which is the metadata")
    );
    let missing = detect(Path::new("/nonexistent/dataset"), None)
        .unwrap_err()
        .to_string();
    insta::assert_snapshot!(missing, @"
    cannot read the dataset /nonexistent/dataset: No such file or directory (os error 2)
      fix:   give the folder that holds the recordings, and that this user may read
    ");
}

#[test]
fn lines_without_a_delimiter_are_rows_too() {
    let folder = Folder::new(&[("metadata.txt", b"just words\nmore words\n")]);
    assert_eq!(folder.rows().len(), 2);
    assert!(folder.rows()[0].contains("no delimiter"));
}

#[test]
fn a_metadata_file_can_be_named_itself() {
    let folder = Folder::new(&[("x/my.csv", b"a.wav|one\n")]);
    let layout = detect(&folder.path().join("x/my.csv"), None).unwrap();
    assert!(matches!(layout, Layout::Tables { .. }));
}
