//! The main job, end to end: manifests in, files in a repository out.

mod order;
