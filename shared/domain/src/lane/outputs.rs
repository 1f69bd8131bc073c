//! What pipelines left behind, and where it belongs.

use super::{DestinationsSeen, Lane};
use crate::footprint::{Place, Placement};
use crate::names::{Owner, join_path};
use crate::output::{DEFAULT_DIRECTORY, Output, OutputGroup, Spread, merged_selector};
use crate::placement::{Destinations, Held, Location, choose};
use crate::plan::WorkflowAction;

impl Placement {
    /// Whether this is where an output stands, or is to stand.
    pub(crate) fn holds(&self, output: &Output) -> bool {
        !self.leaving && self.is_of(output)
    }

    pub(super) fn is_of(&self, output: &Output) -> bool {
        self.pipeline == output.pipeline && self.directory == output.directory
    }
}

impl Lane {
    /// Rule 2: what a configure pipeline left is wanted at once. What a delete pipeline left is discarded.
    pub(super) fn want(&mut self, index: u32, groups: Vec<OutputGroup>, destinations: &Destinations) {
        let Some(run) = &self.run else { return };
        let Some(pipeline) = run.pipeline(index).map(|pipeline| pipeline.name.clone()) else { return };
        if run.plan.action == WorkflowAction::Delete {
            return;
        }
        let (number, promise_selectors) = (run.number, run.plan.selectors.clone());
        if self.is_promise() {
            let own = groups.iter().filter(|group| group.directory == DEFAULT_DIRECTORY);
            self.workflow_selector.extend(own.filter_map(|group| group.own_selector.clone()).flatten());
        }
        let (old, kept) = std::mem::take(&mut self.outputs).into_iter().partition(|o| o.pipeline == pipeline);
        self.outputs = kept;
        let old: Vec<Output> = old;
        // A group without files says where its like would go, and has nothing to place.
        for OutputGroup { directory, own_selector, digest, .. } in groups.into_iter().filter(|g| g.files > 0)
        {
            let selector = merged_selector(
                &directory,
                own_selector.as_ref(),
                &self.workflow_selector,
                &promise_selectors,
            );
            let same = old.iter().any(|o| o.directory == directory && o.selector == selector);
            let output = Output { pipeline: pipeline.clone(), run: number, directory, selector, digest };
            self.place(&output, same, destinations);
            self.outputs.retain(|o| o.pipeline != output.pipeline || o.directory != output.directory);
            self.outputs.push(output);
        }
        self.leave_unproduced();
        self.look_at(destinations);
    }

    /// Where nothing of any pipeline belongs any more, it is leaving.
    pub(super) fn leave_unproduced(&mut self) {
        let outputs = &self.outputs;
        let is_output = |placement: &Placement| outputs.iter().any(|output| placement.is_of(output));
        let placements = self.footprint.placements.iter_mut();
        placements.filter(|placement| !is_output(placement)).for_each(Placement::leave);
    }

    /// These Destinations were used for a part of the outputs. If they are news, everything else follows them.
    fn look_at(&mut self, destinations: &Destinations) {
        let news = self.destinations.digest.as_ref() != Some(&destinations.digest());
        if news && destinations.revision >= self.destinations.revision {
            self.place_all(destinations);
        } else {
            self.destinations_seen(destinations);
        }
    }

    /// Decides again for everything: a Destination or a store has changed.
    pub(super) fn place_all(&mut self, destinations: &Destinations) {
        let gone = |p: &Placement| {
            !destinations.all.contains_key(&p.destination) || !destinations.stores.contains(&p.store)
        };
        let abandoned = self.footprint.abandon(gone);
        if let Some(first) = abandoned.first() {
            let count = abandoned.len();
            self.notice = Some(format!(
                "files stay in {count} places whose Destination or store is gone: {first}, ..."
            ));
        }
        for output in self.outputs.clone() {
            self.place(&output, true, destinations);
        }
        let emptied = |p: &&mut Placement| destinations.is_emptied(&p.destination);
        self.footprint.placements.iter_mut().filter(emptied).for_each(Placement::evict);
        self.destinations_seen(destinations);
    }

    fn destinations_seen(&mut self, destinations: &Destinations) {
        self.destinations =
            DestinationsSeen { revision: destinations.revision, digest: Some(destinations.digest()) };
    }

    /// Puts one output where it belongs; where it stood and does not belong any more, it is leaving.
    fn place(&mut self, output: &Output, same_selector: bool, destinations: &Destinations) {
        let Some(plan) = self.current_plan() else { return };
        let mut held: Vec<&Placement> =
            self.footprint.placements.iter().filter(|p| p.is_of(output)).collect();
        if held.iter().any(|p| !p.leaving) {
            held.retain(|p| !p.leaving);
        }
        let held: Vec<Held<'_>> = held
            .iter()
            .map(|p| Held { destination: &p.destination, same_selector: same_selector && !p.leaving })
            .collect();
        let seed = format!("{}/{}/{}", self.key, output.pipeline, output.directory);
        let targets = choose(Spread::from(plan.workflow), &output.selector, &held, destinations, &seed);

        let owner = Owner::of(&self.key, plan.workflow, &plan.promise);
        let placements = targets.into_iter().filter_map(|(destination, misplaced)| {
            let location = destinations.location(&destination)?;
            Some(Placement { misplaced, ..placement(output, owner, destination, location) })
        });
        let placements: Vec<Placement> = placements.collect();
        let old = self.footprint.placements.iter_mut().filter(|placement| placement.is_of(output));
        old.for_each(Placement::leave);
        for placement in placements {
            self.footprint.put(placement);
        }
    }
}

/// An output at a Destination, not yet written.
fn placement(output: &Output, owner: Owner<'_>, destination: String, location: &Location) -> Placement {
    let Output { pipeline, directory, digest, .. } = output;
    Placement {
        place: Place {
            repository: location.repository.clone(),
            branch: location.branch.clone(),
            prefix: join_path(&[&location.path, &owner.nested_directory(pipeline, directory)]),
        },
        store: location.store.clone(),
        name: owner.placement_name(pipeline, &destination, directory),
        destination,
        pipeline: pipeline.clone(),
        directory: directory.clone(),
        wanted: Some(digest.clone()),
        confirmed: None,
        leaving: false,
        misplaced: false,
    }
}
