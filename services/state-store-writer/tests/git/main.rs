//! The Git store against real repositories and the real `git`: what lands, who wins a race, what goes wrong.

mod commits;
mod faults;
mod places;
mod races;
mod site;
