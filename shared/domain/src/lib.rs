//! The decisions of Millrace as plain data and functions: what a lane does next, where outputs go, what must hold.
//!
//! | owns | does not own |
//! |---|---|
//! | ids, tokens, plans, lanes, placements, footprints, names, paths, invariants | objects' types (`resources`), making plans (`inflation`), subjects (`messages`), all I/O (`runtime`, services) |
//!
//! No I/O, no async, no clock, no randomness: time comes in as a [`time::Timestamp`].
//! Reading order: [`id`], [`plan`], [`token`], [`output`], [`footprint`], [`placement`], [`lane`], [`invariant`].

pub mod control;
pub mod digest;
pub mod footprint;
pub mod id;
pub mod invariant;
pub mod lane;
pub mod names;
pub mod output;
pub mod placement;
pub mod plan;
pub mod problem;
pub mod time;
pub mod token;
