//! Sound as server-sent events, in the shape of OpenAI's API.

use myxtts_run::base64;
use serde_json::json;

use crate::error::ApiError;

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

#[cfg(test)]
mod tests {
    use super::*;

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
