use burn::tensor::{Bool, Tensor, TensorData};
use myxtts_ops::{AttentionMask, Dropout, attention, chunked_attention, reference, self_attention};
use proptest::prelude::*;

use crate::support::{Flat, assert_same, assert_slopes, device, random, values};

#[derive(Clone, Debug)]
struct Case {
    batch: usize,
    heads: usize,
    queries: usize,
    keys: usize,
    channels: usize,
    causal: bool,
    hidden: bool,
    drop: bool,
}

impl Case {
    fn mask(&self) -> AttentionMask {
        let keys_bk = self.hidden.then(|| {
            let counts = (0..self.batch * self.keys).map(|i| (i * 7 + 3) % 5 > 1);
            let data = TensorData::new(counts.collect::<Vec<bool>>(), [self.batch, self.keys]);
            Tensor::<2, Bool>::from_data(data, &device())
        });
        AttentionMask {
            causal: self.causal,
            keys_bk,
        }
    }

    fn drop(&self) -> Option<Dropout> {
        self.drop.then_some(Dropout {
            probability: 0.3,
            key: 5,
            first_row: 0,
        })
    }

    fn inputs(&self) -> [Flat; 3] {
        let shape = |rows| [self.batch, self.heads, rows, self.channels];
        [
            Flat::random(&shape(self.queries), 1),
            Flat::random(&shape(self.keys), 2),
            Flat::random(&shape(self.keys), 3),
        ]
    }

    fn fast(&self, x: &[Flat]) -> Flat {
        let (mask, drop) = (self.mask(), self.drop());
        let scale = 1.0 / (self.channels as f64).sqrt();
        Flat::of(attention(
            x[0].get(),
            x[1].get(),
            x[2].get(),
            &mask,
            scale,
            drop.as_ref(),
        ))
    }

    fn chunked(&self, x: &[Flat], scores: usize) -> Flat {
        let (mask, drop) = (self.mask(), self.drop());
        let scale = 1.0 / (self.channels as f64).sqrt();
        let qkv = [x[0].get(), x[1].get(), x[2].get()];
        Flat::of(chunked_attention(qkv, &mask, scale, drop.as_ref(), scores))
    }

    fn plain(&self, x: &[Flat]) -> Flat {
        let (mask, drop) = (self.mask(), self.drop());
        let scale = 1.0 / (self.channels as f64).sqrt();
        Flat::of(reference::attention(
            x[0].get(),
            x[1].get(),
            x[2].get(),
            &mask,
            scale,
            drop.as_ref(),
        ))
    }
}

fn cases() -> impl Strategy<Value = Case> {
    let sizes = (
        1..3_usize,
        1..4_usize,
        1..150_usize,
        1..150_usize,
        1..20_usize,
    );
    (sizes, any::<[bool; 3]>()).prop_map(|(sizes, [causal, hidden, drop])| {
        let (batch, heads, queries, keys, channels) = sizes;
        Case {
            batch,
            heads,
            queries,
            keys,
            channels,
            causal,
            hidden,
            drop,
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn attention_is_its_composition(case in cases()) {
        assert_same(&case.inputs(), &|x| case.fast(x), &|x| case.plain(x), 2e-5);
    }

    /// From one query at a time to all of them.
    #[test]
    fn attention_in_chunks_is_its_composition(case in cases(), scores in 1..60_000_usize) {
        let chunked = |x: &[Flat]| case.chunked(x, scores);
        assert_same(&case.inputs(), &chunked, &|x| case.plain(x), 2e-5);
    }

    #[test]
    fn self_attention_is_its_composition(case in cases()) {
        let case = Case { keys: case.queries, ..case };
        let width = 3 * case.heads * case.channels;
        let inputs = [Flat::random(&[case.batch, case.queries, width], 4)];
        let (mask, drop) = (case.mask(), case.drop());
        let fast =
            |x: &[Flat]| Flat::of(self_attention(x[0].get(), case.heads, &mask, 0.5, drop.as_ref()));
        let plain = |x: &[Flat]| {
            Flat::of(reference::self_attention(x[0].get(), case.heads, &mask, 0.5, drop.as_ref()))
        };
        assert_same(&inputs, &fast, &plain, 2e-5);
    }
}

#[test]
fn slopes_are_differences() {
    for drop in [false, true] {
        let case = Case {
            batch: 1,
            heads: 2,
            queries: 3,
            keys: 4,
            channels: 3,
            causal: true,
            hidden: false,
            drop,
        };
        assert_slopes(&case.inputs(), &|x| case.fast(x), 1e-2);
    }
}

#[test]
fn a_query_without_a_key_is_nothing_and_moves_nothing() {
    let hidden = Tensor::<2, Bool>::from_bool([[false, false, true]], &device());
    let mask = AttentionMask {
        causal: true,
        keys_bk: Some(hidden),
    };
    let qkv = [1, 2, 3].map(|seed| random([1, 1, 3, 2], seed).require_grad());
    let [q, k, v] = qkv.clone();
    let out = attention(q, k, v, &mask, 1.0, None);
    assert_eq!(values(&out)[..4], [0.0; 4]);
    let gradients = out.sum().backward();
    let dq = values(&qkv[0].grad(&gradients).unwrap());
    assert_eq!(dq[..4], [0.0; 4]);
}

#[test]
fn heads_may_lie_anywhere() {
    let inputs = [1, 2, 3].map(|seed| Flat::random(&[2, 3, 5, 7], seed));
    let mask = AttentionMask::default();
    // Channels before length, as convolutions leave them.
    let turn = |x: &Flat| x.get::<4>().swap_dims(2, 3);
    let fast = |x: &[Flat]| {
        Flat::of(attention(
            turn(&x[0]),
            turn(&x[1]),
            turn(&x[2]),
            &mask,
            0.5,
            None,
        ))
    };
    let plain = |x: &[Flat]| {
        Flat::of(reference::attention(
            turn(&x[0]),
            turn(&x[1]),
            turn(&x[2]),
            &mask,
            0.5,
            None,
        ))
    };
    assert_same(&inputs, &fast, &plain, 2e-5);
}

#[test]
fn large_scores_do_not_overflow() {
    let big = |seed| random([1, 1, 4, 8], seed) * 100.0;
    let mask = AttentionMask::default();
    let out = attention(big(1), big(2), big(3), &mask, 1.0, None);
    assert!(values(&out).iter().all(|x| x.is_finite()));
}

#[test]
fn a_piece_of_a_batch_drops_what_the_whole_would() {
    let qkv = random([5, 9, 3 * 8], 1);
    let mask = AttentionMask {
        causal: true,
        keys_bk: None,
    };
    let attend = |qkv: Tensor<3>, first_row: usize| {
        let drop = Dropout {
            probability: 0.4,
            key: 9,
            first_row,
        };
        self_attention(qkv, 2, &mask, 0.5, Some(&drop))
    };
    let whole = attend(qkv.clone(), 0).narrow(0, 3, 2);
    let piece = attend(qkv.narrow(0, 3, 2), 3);
    assert_eq!(values(&piece), values(&whole));
}
