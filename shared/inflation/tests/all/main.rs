//! From text to admitted objects and plans, against fixtures and against real manifests where they are found.

#[cfg(test)]
mod admission;
#[cfg(test)]
mod common;
#[cfg(test)]
mod plans;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod refusals;
