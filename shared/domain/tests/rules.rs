//! The rules of a lane as stories about one lane, with the ids of the upstream scenarios that they cover.

mod story;

#[path = "rules/controls.rs"]
mod controls;
#[path = "rules/deletion.rs"]
mod deletion;
#[path = "rules/destinations.rs"]
mod destinations;
#[path = "rules/gates.rs"]
mod gates;
#[path = "rules/order.rs"]
mod order;
#[path = "rules/outputs.rs"]
mod outputs;
#[path = "rules/replacement.rs"]
mod replacement;
#[path = "rules/scheduling.rs"]
mod scheduling;
#[path = "rules/stores.rs"]
mod stores;
#[path = "rules/suspension.rs"]
mod suspension;
