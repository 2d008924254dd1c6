//! Sound as server-sent events, in the shape of OpenAI's API.

use serde_json::json;

use crate::error::ApiError;

const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Writes a part of the sound, or the error that ended it early, as events; one that
/// says so follows the last part.
pub(super) fn events(part: Result<Vec<u8>, ApiError>, is_last: bool) -> Vec<u8> {
    let mut events = String::new();
    let mut event = |document: serde_json::Value| events.push_str(&format!("data: {document}\n\n"));
    match part {
        Ok(bytes) => {
            if !bytes.is_empty() {
                event(json!({ "type": "speech.audio.delta", "audio": base64(&bytes) }));
            }
            if is_last {
                event(json!({ "type": "speech.audio.done" }));
            }
        }
        Err(why) => {
            let mut document = why.document();
            document["type"] = json!("error");
            event(document);
        }
    }
    events.into_bytes()
}

fn base64(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let byte = |at: usize| u32::from(group.get(at).copied().unwrap_or_default());
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for at in 0..4 {
            let letter = LETTERS.get((bits >> (18 - 6 * at) & 63) as usize);
            let is_there = at <= group.len();
            text.push(
                letter
                    .filter(|_| is_there)
                    .map_or('=', |byte| char::from(*byte)),
            );
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The vectors of RFC 4648, and every byte.
    #[test]
    fn base64_is_as_the_standard_says() {
        for (bytes, text) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
        assert_eq!(base64(&[0xfb, 0xef, 0xff]), "++//");
    }

    #[test]
    fn events_as_clients_read_them() {
        let parts = [
            events(Ok(vec![1, 2, 3]), false),
            events(Ok(vec![4]), true),
            events(Ok(vec![]), true),
            events(Err(ApiError::stopping()), true),
        ];
        let text = parts.map(|part| String::from_utf8(part).unwrap());
        insta::assert_snapshot!(text.join("--\n"));
    }
}
