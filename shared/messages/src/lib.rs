//! The wire: every subject, stream, bucket and message, with versions.
//!
//! | message | published by | consumed by |
//! |---|---|---|
//! | [`admit`] | CLI, directory sync | inflater (request-reply) |
//! | [`intent`](subject::intent) (no body) | inflater, scheduler | inflater, scheduler (Destinations and stores) |
//! | [`plan::PlanEntry`] | inflater | scheduler |
//! | [`record`] (the lane record, a CloudEvent) | scheduler | everyone; EVENTS by sourcing |
//! | [`job::JobCommand`] | scheduler | job-runner |
//! | [`result::ResultMessage`] | job-runner, state-store-writer | scheduler |
//! | [`write::WriteCommand`] | scheduler | state-store-writer |
//! | [`timer::TimerCommand`] | scheduler | scheduler, when it is due |

pub mod admit;
pub mod envelope;
pub mod job;
pub mod log;
pub mod plan;
pub mod record;
pub mod result;
pub mod subject;
pub mod timer;
pub mod trace;
pub mod write;
