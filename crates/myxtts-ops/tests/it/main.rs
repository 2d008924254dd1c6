//! The fast operations against their definitions.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]
