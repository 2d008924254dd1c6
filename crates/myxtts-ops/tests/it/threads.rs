//! The same bits whatever the number of threads.

use burn::tensor::{Int, Tensor};
use myxtts_ops::{
    AttentionMask, CrossEntropy, Dropout, cross_entropy, dropout_add, gelu_tanh, group_norm,
    layer_norm, pointwise_conv, self_attention, transposed_linear,
};

use crate::support::{Flat, device, run};

/// A layer of everything, larger than one piece of work in every step.
fn everything(x: &[Flat]) -> Flat {
    let drop = Dropout {
        probability: 0.1,
        key: 3,
        first_row: 0,
    };
    let mask = AttentionMask {
        causal: true,
        keys_bk: None,
    };
    let mut h = x[0].get::<3>();
    let qkv = transposed_linear(
        layer_norm(h.clone(), x[1].get(), x[2].get(), 1e-5),
        x[3].get(),
        Some(x[4].get()),
    );
    h = dropout_add(
        self_attention(qkv, 4, &mask, 0.25, Some(&drop)),
        h,
        Some(&drop),
    );
    let h_bct = gelu_tanh(h).swap_dims(1, 2);
    let normal = group_norm(h_bct, x[1].get(), x[2].get(), 4, 1e-5);
    let logits = pointwise_conv(normal, x[5].get(), None).swap_dims(1, 2);
    let [batch, time, classes] = logits.dims();
    let targets = Tensor::<1, Int>::arange(0..(batch * time) as i64, &device()) % classes as i64;
    Flat::of(cross_entropy(
        logits.reshape([batch * time, classes]),
        targets,
        CrossEntropy::default(),
    ))
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let inputs = [
        Flat::random(&[3, 200, 128], 1),
        Flat::random(&[128], 2),
        Flat::random(&[128], 3),
        Flat::random(&[128, 384], 4),
        Flat::random(&[384], 5),
        Flat::random(&[150, 128, 1], 6),
    ];
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        pool.install(|| run(&inputs, &everything))
    };
    let alone = with(1);
    for threads in [2, 3, 5] {
        assert_eq!(with(threads), alone, "{threads} threads");
    }
    assert_eq!(with(2), with(2));
}
