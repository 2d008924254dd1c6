//! The configuration of a server.

use std::fmt;
use std::hint::black_box;
use std::net::IpAddr;
use std::time::Duration;

use myxtts_text::Language;

use crate::error::ServeError;

/// The configuration of a server.
#[derive(Clone, Debug)]
pub struct ServeConfig {
    /// The address to listen on. One that other machines can reach needs a token.
    pub host: IpAddr,
    /// The port to listen on; 0 takes a free one.
    pub port: u16,
    /// The token that clients must send, if they need one.
    pub token: Option<Token>,
    /// The most requests that may wait.
    pub queue: usize,
    /// The most texts that are spoken together.
    pub rows: usize,
    /// The longest text of a request, in characters.
    pub max_text: usize,
    /// The language of texts whose request does not name one.
    pub language: Option<Language>,
    /// The name clients know the model by.
    pub model: String,
    /// How long to wait for slow clients.
    pub patience: Patience,
    /// How long speech that was begun may take to end after a stop.
    pub grace: Duration,
}

/// How long a server waits for a client that is slow.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// For the head of a request, up to its body; also how long a connection may
    /// lie idle.
    pub head: Duration,
    /// For the body of a request.
    pub body: Duration,
    /// For a client to resume reading, once nothing more can be sent to it.
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

/// The secret that a client sends to be answered. `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    /// The fewest characters of a token that somebody chose.
    pub(crate) const SHORTEST: usize = 16;

    /// Wraps a token that somebody chose.
    ///
    /// # Errors
    /// If it is too short, or has characters that a header cannot carry.
    pub fn new(text: &str) -> Result<Self, ServeError> {
        if text.len() < Self::SHORTEST || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(ServeError::Token);
        }
        Ok(Self(text.to_owned()))
    }

    /// Makes a token of 256 random bits.
    ///
    /// # Errors
    /// If the system has no random numbers.
    pub fn random() -> Result<Self, ServeError> {
        let mut bytes = [0_u8; 32];
        getrandom::fill(&mut bytes).map_err(|why| ServeError::Random(why.to_string()))?;
        Ok(Self(
            bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
        ))
    }

    /// Returns the token itself, to be shown to whoever started the server.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Returns whether `given` is the token. Takes as long for a near miss as for a
    /// far one.
    pub(crate) fn is(&self, given: &str) -> bool {
        let (ours, theirs) = (self.0.as_bytes(), given.as_bytes());
        let differing = ours
            .iter()
            .zip(theirs)
            .fold(0, |differing, (a, b)| differing | (a ^ b));
        // The length is not a secret: that of a token made here is in the docs.
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
