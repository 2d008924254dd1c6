//! Commands that can be pasted.

/// A word as a shell takes it: as it is where nothing in it means anything to
/// a shell, in quotes otherwise.
pub fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./=:,@%+".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn a_shell_gives_back_the_word() {
        for word in [
            "plain",
            "a b",
            "it's",
            "$HOME `x` \"y\"",
            "",
            "*",
            "~/x",
            "صدا",
            "--set=a,b",
        ] {
            let shell = std::process::Command::new("sh")
                .args(["-c", &format!("printf %s {}", quoted(word))])
                .output()
                .unwrap();
            assert_eq!(String::from_utf8(shell.stdout).unwrap(), word);
        }
        assert_eq!(quoted("voice/de"), "voice/de");
    }
}
