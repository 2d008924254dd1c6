//! What a server is told.

use std::fmt;
use std::hint::black_box;
use std::net::IpAddr;
use std::time::Duration;

use myxtts_text::Language;

use crate::error::ServeError;

/// What a server is told.
#[derive(Clone, Debug)]
pub struct ServeConfig {
    /// Where it listens. An address that other machines reach needs a token.
    pub host: IpAddr,
    /// 0 takes a free one.
    pub port: u16,
    /// What clients must know, where they must.
    pub token: Option<Token>,
    /// Most requests that wait.
    pub queue: usize,
    /// Most that are spoken together.
    pub rows: usize,
    /// Longest text of a request, in characters.
    pub max_text: usize,
    /// Of texts whose request does not say.
    pub language: Option<Language>,
    /// What the model is called.
    pub model: String,
    /// How long it waits for slow clients.
    pub patience: Patience,
    /// How long speech may take to end after a stop.
    pub grace: Duration,
}

/// How long a server waits for a client that is slow.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// For the lines of a request that come before its body; also how long a
    /// connection may lie idle.
    pub head: Duration,
    /// For the body of a request.
    pub body: Duration,
    /// For a client to read on, once nothing more can be sent to it.
    pub reading: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            head: Duration::from_secs(15),
            body: Duration::from_secs(15),
            reading: Duration::from_secs(30),
        }
    }
}

/// What a client must know to be answered. Not shown by `Debug`.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    /// Fewest letters of a token that somebody chose.
    pub const SHORTEST: usize = 16;

    /// A token that was chosen.
    ///
    /// # Errors
    /// Where it is short, or has letters that a header cannot carry.
    pub fn new(text: &str) -> Result<Self, ServeError> {
        if text.len() < Self::SHORTEST || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(ServeError::Token);
        }
        Ok(Self(text.to_owned()))
    }

    /// A new one, of 256 random bits.
    ///
    /// # Errors
    /// Where the system has no random numbers.
    pub fn random() -> Result<Self, ServeError> {
        let mut bytes = [0_u8; 32];
        getrandom::fill(&mut bytes).map_err(|why| ServeError::Random(why.to_string()))?;
        Ok(Self(
            bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
        ))
    }

    /// To be shown to whoever started the server.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Whether a client knows it. Takes as long for a near miss as for a far one.
    pub(crate) fn is(&self, given: &str) -> bool {
        let (ours, theirs) = (self.0.as_bytes(), given.as_bytes());
        let differing = ours
            .iter()
            .zip(theirs)
            .fold(0, |differing, (a, b)| differing | (a ^ b));
        // Its length is not a secret: that of one made here is in the docs.
        ours.len() == theirs.len() && black_box(differing) == 0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_long_known_whole_and_never_shown() {
        assert!(Token::new("short").is_err());
        assert!(Token::new("sixteen letters!").is_err(), "a space");
        let token = Token::new("0123456789abcdef").unwrap();
        assert!(token.is("0123456789abcdef"));
        for wrong in [
            "",
            "0123456789abcde",
            "0123456789abcdefg",
            "0123456789abcdeF",
        ] {
            assert!(!token.is(wrong), "{wrong}");
        }
        assert_eq!(format!("{token:?}"), "Token(..)");
        let (one, other) = (Token::random().unwrap(), Token::random().unwrap());
        assert_eq!(one.reveal().len(), 64);
        assert_ne!(one, other);
    }
}
