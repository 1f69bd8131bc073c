//! From what people wrote to a plan, or to all that is wrong with it.
//!
//! Text becomes objects ([`documents`]), an object is merged with what is there ([`apply`]), checked and completed
//! ([`admission`]), and a Promise or request then becomes a [`domain::plan::Plan`] ([`plan`]).
//!
//! | owns | does not own |
//! |---|---|
//! | decoding, defaults, validation, support of fields, plans of Promises and requests, Destinations as scheduling sees them | types of objects (`resources`), of plans (`domain`), reading files, storing objects, ids and times |
//!
//! PURE: no I/O, clock, randomness or async. Every problem of an object is reported at once.

pub mod admission;
pub mod apply;
pub mod controls;
pub mod destinations;
pub mod documents;
mod field;
mod lines;
mod nearest;
pub mod plan;
mod schema;
pub mod world;

pub use admission::{Admitted, admit};
pub use documents::{Content, Document};
pub use lines::Lines;
pub use world::{InstalledPromise, Role, World};
