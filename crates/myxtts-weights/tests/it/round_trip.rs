//! What is written is what is read, bit for bit.

use std::path::Path;

use myxtts_weights::torch::{Item, Scalar, TorchFile};
use myxtts_weights::{
    Dtype, Tensor, TensorMap, read_safetensors, read_torch, write_safetensors, write_torch,
};
use proptest::prelude::*;

use crate::support;

fn tensor() -> impl Strategy<Value = Tensor> {
    let dtype = proptest::sample::select(Dtype::ALL.to_vec());
    let shape = proptest::collection::vec(0_usize..5, 0..4);
    (dtype, shape, any::<u64>()).prop_map(|(dtype, shape, seed)| {
        let bytes = dtype.size() * shape.iter().product::<usize>();
        let byte = |at: usize| {
            let mixed = (seed ^ at as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            (mixed >> 56) as u8
        };
        Tensor::new(dtype, shape, (0..bytes).map(byte).collect()).unwrap()
    })
}

fn tensors() -> impl Strategy<Value = TensorMap> {
    proptest::collection::btree_map("[a-z]{1,6}(\\.[a-z0-9]{1,4}){0,3}", tensor(), 0..12)
        .prop_map(|map| map.into_iter().collect())
}

fn torch_round_trip(item: &Item<'_>) -> TorchFile {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.pth");
    write_torch(&path, item).unwrap();
    TorchFile::open(&path).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn torch(map in tensors(), step in any::<i64>(), loss in any::<f64>(), note in ".{0,40}") {
        let items = vec![
            ("model".to_owned(), Item::from(&map)),
            ("step".to_owned(), Item::Scalar(Scalar::Int(step))),
            ("loss".to_owned(), Item::Scalar(Scalar::Float(loss))),
            ("note".to_owned(), Item::Scalar(Scalar::Text(note.clone()))),
            ("done".to_owned(), Item::Scalar(Scalar::Bool(true))),
            ("scaler".to_owned(), Item::Scalar(Scalar::None)),
        ];
        let file = torch_round_trip(&Item::Dict(items));
        let read: TensorMap = file
            .names()
            .map(|name| (name.strip_prefix("model.").unwrap().to_owned(), file.read(name).unwrap()))
            .collect();
        prop_assert_eq!(&read, &map);
        prop_assert_eq!(&file.scalars()["step"], &Scalar::Int(step));
        prop_assert_eq!(&file.scalars()["loss"], &Scalar::Float(loss));
        prop_assert_eq!(&file.scalars()["note"], &Scalar::Text(note));
        prop_assert_eq!(&file.scalars()["done"], &Scalar::Bool(true));
        prop_assert_eq!(&file.scalars()["scaler"], &Scalar::None);
    }

    #[test]
    fn safetensors(map in tensors()) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.safetensors");
        write_safetensors(&path, &map).unwrap();
        prop_assert_eq!(read_safetensors(&path).unwrap(), map);
    }

    /// Strided views against the definition: element (i, j, ...) is
    /// `storage[offset + i * stride_i + j * stride_j + ...]`.
    #[test]
    fn strided_views(
        dimensions in proptest::collection::vec((0_i64..4, 0_i64..4), 0..4),
        offset in 0_i64..8,
    ) {
        let (shape, strides): (Vec<i64>, Vec<i64>) = dimensions.into_iter().unzip();
        let mut positions = vec![offset];
        for (size, stride) in shape.iter().zip(&strides) {
            positions = positions
                .iter()
                .flat_map(|at| (0..*size).map(move |index| at + index * stride))
                .collect();
        }
        let pickle = support::dict(&[("t", support::tensor(8, offset, &shape, &strides))]);
        let read = support::read(support::torch(&pickle));
        if positions.iter().all(|at| *at < 8) {
            let expected: Vec<f32> = positions.iter().map(|at| *at as f32).collect();
            prop_assert_eq!(read.unwrap().get("t").unwrap().to_f32(), expected);
        } else {
            prop_assert!(read.is_err());
        }
    }
}

#[test]
fn written_tensors_lie_on_64_byte_borders() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.pth");
    let pattern = [1.25_f32, -3.5, 7.75];
    let odd = Tensor::from_f32(vec![3], &pattern).unwrap();
    let map = TensorMap::from_iter([
        ("a", odd.clone()),
        ("bb", odd.clone()),
        ("ccc", odd.clone()),
    ]);
    write_torch(&path, &Item::from(&map)).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let found: Vec<usize> = (0..bytes.len() - 12)
        .filter(|at| &bytes[*at..at + 12] == odd.bytes())
        .collect();
    assert_eq!(found.len(), 3);
    assert!(found.iter().all(|at| at % 64 == 0), "{found:?}");
}

#[cfg(unix)]
#[test]
fn written_files_have_the_permissions_of_new_files() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode();
    std::fs::write(path("plain"), b"x").unwrap();
    let map = TensorMap::from_iter([("a", Tensor::from_f32(vec![], &[1.0]).unwrap())]);
    write_torch(&path("a.pth"), &Item::from(&map)).unwrap();
    write_safetensors(&path("a.safetensors"), &map).unwrap();
    assert_eq!(mode(&path("a.pth")), mode(&path("plain")));
    assert_eq!(mode(&path("a.safetensors")), mode(&path("plain")));
    assert_eq!(read_torch(&path("a.pth")).unwrap(), map);
}

#[test]
fn numbers_of_every_type_become_f32() {
    let of = |dtype, bytes: &[u8]| {
        let shape = vec![bytes.len() / Dtype::size(dtype)];
        Tensor::new(dtype, shape, bytes.to_vec()).unwrap().to_f32()
    };
    assert_eq!(of(Dtype::F64, &0.1_f64.to_le_bytes()), [0.1]);
    assert_eq!(of(Dtype::F32, &(-2.5_f32).to_le_bytes()), [-2.5]);
    assert_eq!(of(Dtype::F16, &[0x00, 0x3c, 0x00, 0xc1]), [1.0, -2.5]);
    assert_eq!(of(Dtype::BF16, &[0x20, 0xc0]), [-2.5]);
    assert_eq!(of(Dtype::I64, &(-7_i64).to_le_bytes()), [-7.0]);
    assert_eq!(of(Dtype::I32, &70_000_i32.to_le_bytes()), [70_000.0]);
    assert_eq!(of(Dtype::I16, &(-300_i16).to_le_bytes()), [-300.0]);
    assert_eq!(of(Dtype::I8, &[0xff]), [-1.0]);
    assert_eq!(of(Dtype::U8, &[0xff]), [255.0]);
    assert_eq!(of(Dtype::Bool, &[0, 1]), [0.0, 1.0]);
}

#[test]
fn bytes_and_shape_must_agree() {
    let error = Tensor::new(Dtype::F32, vec![2, 3], vec![0; 20]).unwrap_err();
    insta::assert_snapshot!(error);
    assert!(Tensor::new(Dtype::F32, vec![usize::MAX, 3], vec![0; 20]).is_err());
}

/// Read through the mapping, the numbers would be a bus error.
#[test]
fn tensors_in_memory_outlive_their_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w.safetensors");
    let bytes: Vec<u8> = (0..40_000).map(|n| (n % 251) as u8).collect();
    let tensor = Tensor::new(Dtype::U8, vec![bytes.len()], bytes.clone()).unwrap();
    let map: TensorMap = [("a", tensor)].into_iter().collect();
    write_safetensors(&path, &map).unwrap();
    let kept = read_safetensors(&path).unwrap().in_memory();
    let file = std::fs::File::options().write(true).open(&path).unwrap();
    file.set_len(8).unwrap();
    assert_eq!(kept.get("a").unwrap().bytes(), bytes);
}
