//! `myxtts serve`, as it is typed.

use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;

use clap::{Arg, ArgAction, Command, value_parser};
use myxtts_base::Report;
use myxtts_text::Language;

use super::flags;

pub(super) fn command() -> Command {
    let path = |name: &'static str| {
        Arg::new(name)
            .long(name)
            .value_name("DIR")
            .value_parser(value_parser!(PathBuf))
    };
    let number = |name: &'static str, default: &'static str, most: i64| {
        Arg::new(name)
            .long(name)
            .value_name("N")
            .default_value(default)
            .value_parser(value_parser!(u32).range(1..=most))
    };
    Command::new("serve")
        .about("Serve speech over HTTP to clients of OpenAI's API")
        .long_about(
            "Serve speech over HTTP: POST /v1/audio/speech in the form of OpenAI's API, whole or \
             streamed, with the voices stored with the model and those of a folder. Listens only on \
             this machine unless --host says otherwise, and then every client needs the token. On \
             SIGINT or SIGTERM it finishes what is being spoken, then stops.",
        )
        .arg(
            Arg::new("host")
                .long("host")
                .value_name("ADDRESS")
                .default_value("127.0.0.1")
                .value_parser(host)
                .help("Address to listen on; any other than this machine's own needs a token"),
        )
        .arg(
            Arg::new("port")
                .long("port")
                .value_name("N")
                .default_value("8020")
                .value_parser(value_parser!(u16))
                .help("Port to listen on; 0 takes a free one and prints it"),
        )
        .arg(
            Arg::new("token")
                .long("token")
                .value_name("TOKEN")
                .help("Token that clients must send as `Authorization: Bearer TOKEN` [default: none on this machine; else one is generated and printed]"),
        )
        .arg(
            Arg::new("token-file")
                .long("token-file")
                .value_name("FILE")
                .value_parser(value_parser!(PathBuf))
                .conflicts_with("token")
                .help("A file with the token; --token would show it to everybody who lists processes [default: none]"),
        )
        .arg(path("checkpoint").help(
            "A run, one of its checkpoints, or imported weights [default: runs/default, else the newest run]",
        ))
        .arg(
            Arg::new("best")
                .long("best")
                .action(ArgAction::SetTrue)
                .help("Use the run's best checkpoint instead of its newest [default: off]"),
        )
        .arg(path("voices").help(
            "A folder of voices, NAME.voice or NAME.wav, in addition to those stored with the model [default: none]",
        ))
        .arg(
            Arg::new("language")
                .long("language")
                .value_name("TAG")
                .value_parser(value_parser!(Language))
                .help("Language of texts whose request does not name one [default: the only one the model speaks]"),
        )
        .arg(
            number("queue", "64", 100_000)
                .help("Most requests that may wait; further ones are told to try again later"),
        )
        .arg(number("rows", "8", 1024).help("Most texts that are spoken at the same time"))
        .arg(
            number("max-text", "4096", 1_000_000)
                .help("Longest text of a request, in characters"),
        )
        .arg(
            Arg::new("grace")
                .long("grace")
                .value_name("S")
                .default_value("10")
                .value_parser(value_parser!(u64).range(0..=3600))
                .help("Seconds that speech in progress may take to finish after a stop before it is cut off"),
        )
        .arg(
            Arg::new("parent")
                .long("parent")
                .action(ArgAction::SetTrue)
                .help("Stop when standard input is closed, and so together with the program that started this one [default: off]"),
        )
        .args(flags::device_arguments())
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
