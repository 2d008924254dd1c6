//! `myxtts serve`, as it is typed.

use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;

use clap::{Arg, ArgAction, Command, value_parser};
use myxtts::Report;
use myxtts::speech::Language;

use super::flags;

pub(super) fn command() -> Command {
    Command::new("serve")
        .about("Serve speech over HTTP to clients of OpenAI's API")
        .long_about(
            "Serve speech over HTTP: POST /v1/audio/speech in the form of OpenAI's API, whole or \
             streamed, with the voices stored with the model and those of a folder. Listens only on \
             this machine unless --host says otherwise, and then every client needs the token. On \
             SIGINT or SIGTERM it finishes what is being spoken, then stops.",
        )
        .args(address_and_token())
        .args(model_and_voices())
        .args(limits())
        .args(ending())
        .args(flags::device_arguments())
}

/// Returns the flags that say where the server listens, and to whom.
fn address_and_token() -> [Arg; 4] {
    [
        Arg::new("host")
            .long("host")
            .value_name("ADDRESS")
            .default_value("127.0.0.1")
            .value_parser(host)
            .help("Address to listen on; any other than this machine's own needs a token"),
        Arg::new("port")
            .long("port")
            .value_name("N")
            .default_value("8020")
            .value_parser(value_parser!(u16))
            .help("Port to listen on; 0 takes a free one and prints it"),
        Arg::new("token")
            .long("token")
            .value_name("TOKEN")
            .help("Token that clients must send as `Authorization: Bearer TOKEN` [default: none on this machine; else one is generated and printed]"),
        Arg::new("token-file")
            .long("token-file")
            .value_name("FILE")
            .value_parser(value_parser!(PathBuf))
            .conflicts_with("token")
            .help("A file with the token; --token would show it to everybody who lists processes [default: none]"),
    ]
}

/// Returns the flags that say what speaks, in which voices and language.
fn model_and_voices() -> [Arg; 4] {
    let path = |name: &'static str| {
        Arg::new(name)
            .long(name)
            .value_name("DIR")
            .value_parser(value_parser!(PathBuf))
    };
    [
        path("checkpoint").help(
            "A run, one of its checkpoints, or imported weights [default: runs/default, else the newest run]",
        ),
        Arg::new("best")
            .long("best")
            .action(ArgAction::SetTrue)
            .help("Use the run's best checkpoint instead of its newest [default: off]"),
        path("voices").help(
            "A folder of voices, NAME.voice or NAME.wav, in addition to those stored with the model [default: none]",
        ),
        Arg::new("language")
            .long("language")
            .value_name("TAG")
            .value_parser(value_parser!(Language))
            .help("Language of texts whose request does not name one [default: the only one the model speaks]"),
    ]
}

/// Returns the flags that bound what clients may ask for.
fn limits() -> [Arg; 3] {
    let number = |name: &'static str, default: &'static str, most: i64| {
        Arg::new(name)
            .long(name)
            .value_name("N")
            .default_value(default)
            .value_parser(value_parser!(u32).range(1..=most))
    };
    [
        number("queue", "64", 100_000)
            .help("Most requests that may wait; further ones are told to try again later"),
        number("rows", "8", 1024).help("Most texts that are spoken at the same time"),
        number("max-text", "4096", 1_000_000).help("Longest text of a request, in characters"),
    ]
}

/// Returns the flags that say when and how the server stops.
fn ending() -> [Arg; 2] {
    [
        Arg::new("grace")
            .long("grace")
            .value_name("S")
            .default_value("10")
            .value_parser(value_parser!(u64).range(0..=3600))
            .help("Seconds that speech in progress may take to finish after a stop before it is cut off"),
        Arg::new("parent")
            .long("parent")
            .action(ArgAction::SetTrue)
            .help("Stop when standard input is closed, and so together with the program that started this one [default: off]"),
    ]
}

/// Parses a numeric address. Other names would have to be looked up, and could mean
/// several addresses.
fn host(text: &str) -> Result<IpAddr, Report> {
    match text {
        "localhost" => Ok(Ipv4Addr::LOCALHOST.into()),
        _ => text
            .parse()
            .map_err(|_| Report::new("expected an address such as 127.0.0.1, 0.0.0.0 or ::1")),
    }
}
