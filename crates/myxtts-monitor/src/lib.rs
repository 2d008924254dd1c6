//! A run and its devices, in the terminal.
