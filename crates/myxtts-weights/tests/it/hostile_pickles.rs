//! Pickles made to harm, and what we say to them. Nothing is ever called.

use crate::support::{dict, floats, int, open, read, tensor, text, torch};

fn refusal(pickle: &[u8]) -> String {
    read(torch(pickle)).unwrap_err().to_string()
}

/// A tensor inside a dictionary under `gpt.weight`.
fn refused_tensor(tensor: Vec<u8>) -> String {
    refusal(&dict(&[("gpt.weight", tensor)]))
}

#[test]
fn a_call_of_os_system_is_refused_and_not_run() {
    let folder = tempfile::tempdir().unwrap();
    let proof = folder.path().join("owned");
    let command = text(&format!("touch {}", proof.display()));
    let call = [b"cposix\nsystem\n", &command[..], b"\x85R"].concat();
    insta::assert_snapshot!(refusal(&[b"\x80\x02", &call[..], b"."].concat()));
    // Nor hidden beside good tensors, nor by protocol 4's other spelling.
    let hidden = dict(&[("a", tensor(8, 0, &[8], &[1])), ("b", call)]);
    assert!(refusal(&hidden).contains("posix.system"));
    let stacked = [
        &text("os")[..],
        &text("system"),
        b"\x93",
        &command,
        b"\x85R",
    ]
    .concat();
    assert!(refusal(&dict(&[("b", stacked)])).contains("os.system"));
    let eval = [b"c__builtin__\neval\n", &command[..], b"\x85R"].concat();
    assert!(refusal(&dict(&[("b", eval)])).contains("__builtin__.eval"));
    assert!(!proof.exists());
}

#[test]
fn an_unknown_object_beside_tensors_is_named_and_not_built() {
    // A configuration object: class, empty arguments, attributes.
    let object = [
        b"cTTS.config\nXttsConfig\n)\x81}(",
        &text("lr")[..],
        &int(1),
        b"ub",
    ]
    .concat();
    let when = [b"cdatetime\ndatetime\n", &text("2025")[..], b"\x85R"].concat();
    let file = open(torch(&dict(&[
        ("config", object),
        ("date", when),
        ("model", tensor(8, 2, &[2, 2], &[2, 1])),
    ])))
    .unwrap();
    assert_eq!(file.read("model").unwrap().to_f32(), [2.0, 3.0, 4.0, 5.0]);
    let objects: Vec<_> = file.objects().iter().collect();
    insta::assert_debug_snapshot!(objects);
}

#[test]
fn an_unknown_object_in_the_place_of_tensors() {
    insta::assert_snapshot!(refusal(b"\x80\x02cmodels\nXtts\n)\x81}b."));
}

#[test]
fn a_tensor_in_an_unknown_wrapping() {
    let wrapped = [
        b"cmy.tensors\nQuantised\n",
        &tensor(8, 0, &[8], &[1])[..],
        b"\x85R",
    ]
    .concat();
    insta::assert_snapshot!(refused_tensor(wrapped));
}

#[test]
fn a_storage_of_an_unknown_kind() {
    let pickle = [
        b"ctorch._utils\n_rebuild_tensor_v2\n((",
        &text("storage")[..],
        b"cmy\nStorage\n",
        &text("0"),
        &text("cpu"),
        &int(8),
        b"tQK\0)))tR",
    ]
    .concat();
    insta::assert_snapshot!(refused_tensor(pickle));
}

#[test]
fn a_huge_shape() {
    insta::assert_snapshot!(refused_tensor(tensor(
        8,
        0,
        &[1 << 40, 1 << 40],
        &[1 << 40, 1]
    )));
    assert!(refused_tensor(tensor(8, 0, &[i64::MAX], &[1])).contains("past the 8 elements"));
}

#[test]
fn a_huge_expansion_of_one_number() {
    insta::assert_snapshot!(refused_tensor(tensor(8, 0, &[1 << 40], &[0])));
    // A small one is what `expand` leaves.
    let small = read(torch(&dict(&[("t", tensor(8, 3, &[4], &[0]))]))).unwrap();
    assert_eq!(small.get("t").unwrap().to_f32(), [3.0; 4]);
}

#[test]
fn many_expansions_add_up() {
    let names: Vec<String> = (0..64).map(|index| format!("t{index}")).collect();
    let entries: Vec<_> = names
        .iter()
        .map(|name| (name.as_str(), tensor(8, 0, &[1 << 20], &[0])))
        .collect();
    assert!(refusal(&dict(&entries)).contains("repeats a few numbers"));
}

#[test]
fn a_negative_stride() {
    insta::assert_snapshot!(refused_tensor(tensor(8, 7, &[8], &[-1])));
    assert!(refused_tensor(tensor(8, -1, &[1], &[1])).contains("negative"));
    assert!(refused_tensor(tensor(8, 0, &[-1], &[1])).contains("negative"));
}

#[test]
fn an_offset_past_the_end() {
    insta::assert_snapshot!(refused_tensor(tensor(8, 5, &[4], &[1])));
    assert!(refused_tensor(tensor(8, i64::MAX, &[1], &[1])).contains("past the 8 elements"));
    assert!(refused_tensor(tensor(8, 1, &[2, 2], &[i64::MAX, 1])).contains("past the 8 elements"));
}

#[test]
fn shape_and_strides_of_different_length() {
    insta::assert_snapshot!(refused_tensor(tensor(8, 0, &[2, 4], &[1])));
}

#[test]
fn a_storage_that_lies_about_its_size() {
    insta::assert_snapshot!(refused_tensor(tensor(1 << 40, 0, &[1 << 40], &[1])));
    assert!(refused_tensor(tensor(-8, 0, &[8], &[1])).contains("negative"));
    assert!(refused_tensor(tensor(i64::MAX, 0, &[8], &[1])).contains("should have"));
}

#[test]
fn a_name_twice() {
    let one = || tensor(8, 0, &[8], &[1]);
    insta::assert_snapshot!(refusal(&dict(&[("a", one()), ("a", one())])));
    let inner = [b"}", &text("b")[..], &one(), b"s"].concat();
    assert!(refusal(&dict(&[("a.b", one()), ("a", inner)])).contains("occurs twice"));
}

#[test]
fn deep_nesting() {
    let mut pickle = b"\x80\x02".to_vec();
    pickle.extend(b"]".repeat(100_000));
    pickle.extend(b"a".repeat(99_999));
    pickle.push(b'.');
    insta::assert_snapshot!(refusal(&pickle));
}

#[test]
fn a_list_that_holds_itself() {
    assert!(refusal(b"\x80\x02]q\0h\0a.").contains("levels of nesting"));
}

#[test]
fn a_memo_bomb() {
    // Thirty lists, each holding the one before twice: a billion values.
    let mut pickle = b"\x80\x02]q\0".to_vec();
    for level in 1..30_u8 {
        pickle.extend([
            b']',
            b'q',
            level,
            b'h',
            level - 1,
            b'a',
            b'h',
            level - 1,
            b'a',
        ]);
    }
    pickle.push(b'.');
    insta::assert_snapshot!(refusal(&pickle));
}

#[test]
fn too_many_instructions() {
    let mut pickle = b"\x80\x02".to_vec();
    pickle.extend(b"N0".repeat(2_000_001));
    pickle.extend(b"N.");
    insta::assert_snapshot!(refusal(&pickle));
}

#[test]
fn an_endless_name() {
    let long = "n".repeat(600);
    assert!(refusal(&dict(&[(&long, int(1))])).contains("bytes in a name"));
}

#[test]
fn instructions_torch_does_not_write() {
    insta::assert_snapshot!(refusal(b"\x80\x02(S'ls'\nios\nsystem\n."));
}

#[test]
fn broken_pickles() {
    let pickles: [&[u8]; 16] = [
        b"",
        b"\x80\x02",
        b"\x80\x02.",
        b"\x80\x02t.",
        b"\x80\x02(.",
        b"\x80\x02N(R.",
        b"\x80\x02NNR.",
        b"\x80\x02h\x05.",
        b"\x80\x02X\xff\xff\xff\xffab.",
        b"\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\xffab.",
        b"\x80\x02X\x02\0\0\0\xc3\x28.",
        b"\x80\x02}(Nu.",
        b"\x80\x02NNa.",
        b"\x80\x02ctorch",
        b"\x80\x02NQ.",
        b"\x80\x02NN\x93.",
    ];
    let messages: Vec<String> = pickles
        .iter()
        .map(|pickle| {
            let message = refusal(pickle);
            format!(
                "{}: {}",
                pickle.escape_ascii(),
                message.lines().next().unwrap()
            )
        })
        .collect();
    insta::assert_snapshot!(messages.join("\n"));
}

#[test]
fn the_hand_made_file_is_good_when_nothing_is_wrong_with_it() {
    let map = read(torch(&dict(&[("t", tensor(8, 0, &[2, 4], &[4, 1]))]))).unwrap();
    let tensor = map.get("t").unwrap();
    assert_eq!(tensor.shape(), [2, 4]);
    assert_eq!(tensor.bytes(), floats());
}
