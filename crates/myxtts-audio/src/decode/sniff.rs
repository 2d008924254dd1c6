//! Recognising a file by its first bytes.

use super::fault::Fault;

/// The decoder that takes the bytes.
pub(super) enum Container {
    /// RIFF, RF64 or BW64 with a WAVE form.
    Wav,
    /// One of the formats `symphonia` reads, with its name for messages.
    Compressed(&'static str),
}

/// Recognises the container, or says what the bytes look like instead.
pub(super) fn container(bytes: &[u8]) -> Result<Container, Fault> {
    let form = bytes.get(8..12);
    match bytes {
        [] => Err(Fault::Empty),
        [b'R', b'I', b'F', b'F', ..]
        | [b'R', b'F', b'6', b'4', ..]
        | [b'B', b'W', b'6', b'4', ..] => match form {
            Some(b"WAVE") => Ok(Container::Wav),
            Some(other) => Err(Fault::NotAudio {
                found: format!("a RIFF file of form {}", other.escape_ascii()),
            }),
            None => Err(Fault::NotAudio {
                found: format!(
                    "the first {} bytes of a RIFF header and nothing more",
                    bytes.len()
                ),
            }),
        },
        [b'R', b'I', b'F', b'X', ..] => Err(Fault::Unsupported {
            what: "big-endian WAV (RIFX)".to_owned(),
        }),
        [b'f', b'L', b'a', b'C', ..] => Ok(Container::Compressed("FLAC")),
        // The first packet follows a page header of 28 bytes.
        [b'O', b'g', b'g', b'S', ..] if bytes.get(28..36) == Some(b"OpusHead") => {
            Err(Fault::Unsupported {
                what: "Opus".to_owned(),
            })
        }
        [b'O', b'g', b'g', b'S', ..] => Ok(Container::Compressed("OGG")),
        [b'I', b'D', b'3', ..] => Ok(Container::Compressed("MP3")),
        [_, _, _, _, b'f', b't', b'y', b'p', ..] => Ok(Container::Compressed("M4A")),
        // Layer 00 is reserved in MPEG audio and is what ADTS (raw AAC) uses.
        [0xff, second, ..] if second & 0xf6 == 0xf0 => Ok(Container::Compressed("AAC")),
        [0xff, second, ..] if second & 0xe0 == 0xe0 => Ok(Container::Compressed("MP3")),
        _ => Err(Fault::NotAudio {
            found: describe(bytes),
        }),
    }
}

/// Describes bytes that are not audio, so that a person recognises the file.
fn describe(bytes: &[u8]) -> String {
    let head = &bytes[..bytes.len().min(64)];
    if head.iter().all(|&b| b == 0) {
        return "it starts with zero bytes".to_owned();
    }
    let text = match std::str::from_utf8(head) {
        Ok(text) => Some(text),
        // A character cut at the end of the window is still text.
        Err(e) if e.valid_up_to() + 4 > head.len() => {
            std::str::from_utf8(&head[..e.valid_up_to()]).ok()
        }
        Err(_) => None,
    };
    match text {
        Some(text) if !text.chars().any(|c| c.is_control() && !c.is_whitespace()) => {
            let line: String = text
                .lines()
                .next()
                .unwrap_or_default()
                .chars()
                .take(32)
                .collect();
            format!("it starts with the text {line:?}")
        }
        _ => {
            let hex: Vec<String> = head.iter().take(8).map(|b| format!("{b:02x}")).collect();
            format!("it starts with the bytes {}", hex.join(" "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_bytes_are_told_apart() {
        assert_eq!(
            describe(b"hello\nworld"),
            "it starts with the text \"hello\""
        );
        assert_eq!(
            describe("سلام دنیا".as_bytes()),
            "it starts with the text \"سلام دنیا\""
        );
        assert_eq!(describe(&[1, 2, 0xfe]), "it starts with the bytes 01 02 fe");
        assert_eq!(describe(&[0; 100]), "it starts with zero bytes");
        let cut = "é".repeat(64);
        assert!(describe(&cut.as_bytes()[..63]).contains("text"));
    }
}
