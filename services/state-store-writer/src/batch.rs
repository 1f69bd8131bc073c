//! One batch: what the records want now, as changes of a repository; and what each is answered.

use std::collections::BTreeSet;

use domain::id::ObjectKey;
use domain::lane::WriteResult;
use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt};
use messages::result::{DestinationAnswer, ResultBody, ResultMessage, WriteAnswer};
use messages::subject;
use messages::trace::TraceParent;
use messages::write::{WriteCommand, WriteTarget};
use runtime::bus::{Delivery, Disposition};
use runtime::telemetry::chain;
use std::time::Duration;

use crate::commit_message::CommitMessage;
use crate::service::{Error, Repositories, StoreName, Writer};
use crate::store::{self, Change, Committed, Revision};
use crate::wanted::{Order, Wanted, Work};

/// Tries against a branch that others move all the time.
const ATTEMPTS: u32 = 10;
const AT_A_TIME: usize = 16;

type Answer = Result<Option<String>, String>;

impl Writer {
    /// What becomes of each message of the batch.
    pub(crate) async fn write_batch(
        &self,
        repositories: &mut Repositories,
        batch: &[Delivery],
    ) -> Vec<Disposition> {
        let decoded: Vec<Result<Order, String>> = batch
            .iter()
            .map(|delivery| match delivery.decode::<WriteCommand>() {
                Ok(received) => Ok(Order { target: received.message.target, trace: received.trace }),
                Err(error) => Err(chain(&error)),
            })
            .collect();
        let orders: Vec<Order> = decoded.iter().filter_map(|order| order.as_ref().ok().cloned()).collect();
        let mut answered = self.carry_out(repositories, &orders).await.into_iter();
        let dispositions = decoded.into_iter().map(|order| match order {
            Ok(_) => answered.next().unwrap_or(Disposition::Retry(Duration::from_secs(1))),
            Err(reason) => Disposition::Dead(reason),
        });
        dispositions.collect()
    }

    async fn carry_out(&self, repositories: &mut Repositories, orders: &[Order]) -> Vec<Disposition> {
        let mut answers: Vec<Answer> = orders.iter().map(|_| Ok(None)).collect();
        let store = repositories.name.clone();
        let mut wanted = self.read(&store, orders, &mut answers).await;
        let places: BTreeSet<(String, String)> =
            wanted.iter().flatten().flat_map(|w| w.work.keys().cloned()).collect();
        for place in places {
            self.commit(repositories, &place, orders, &mut wanted, &mut answers).await;
        }
        let tip = wanted.into_iter().zip(answers).zip(orders);
        let sent: Vec<BoxFuture<'_, _>> =
            tip.map(|((wanted, answer), order)| self.answer(&store, order, wanted, answer).boxed()).collect();
        futures::stream::iter(sent).buffered(AT_A_TIME).collect().await
    }

    /// Reads what every order wants now. An order whose want cannot be read is answered with the reason.
    async fn read(&self, store: &StoreName, orders: &[Order], answers: &mut [Answer]) -> Vec<Option<Wanted>> {
        let read: Vec<BoxFuture<'_, _>> =
            orders.iter().map(|order| self.wanted(store, order).boxed()).collect();
        let read: Vec<Result<Option<Wanted>, Error>> =
            futures::stream::iter(read).buffered(AT_A_TIME).collect().await;
        let read = read.into_iter().zip(answers).map(|(wanted, answer)| match wanted {
            Ok(wanted) => wanted,
            Err(error) => {
                *answer = Err(chain(&error));
                None
            }
        });
        read.collect()
    }

    /// Makes one commit of what all orders want in one repository, and again after each refusal, from the records as
    /// they then are.
    async fn commit(
        &self,
        repositories: &mut Repositories,
        place: &(String, String),
        orders: &[Order],
        wanted: &mut Vec<Option<Wanted>>,
        answers: &mut [Answer],
    ) {
        for attempt in 0..ATTEMPTS {
            match self.try_commit(repositories, place, orders, wanted, answers, attempt > 0).await {
                Ok(Some(committed)) => return remember(&committed, place, wanted, answers),
                Ok(None) => {} // the branch moved, or an order was left out: decide again
                Err(error) => {
                    Self::close(repositories); // its settings may be what is wrong
                    return fail_all(&chain(&error), place, wanted, answers);
                }
            }
        }
        fail_all("others move the branch all the time", place, wanted, answers);
    }

    /// The branch's head must be known before the records are read: what an older record wanted could else land on
    /// top of what a newer one was answered for. None: to be tried again.
    async fn try_commit(
        &self,
        repositories: &mut Repositories,
        place: &(String, String),
        orders: &[Order],
        wanted: &mut Vec<Option<Wanted>>,
        answers: &mut [Answer],
        again: bool,
    ) -> Result<Option<Committed>, Error> {
        let name = repositories.name.clone();
        let open = self.repository(repositories, &place.0, &place.1)?;
        let (head, looked) = match open.head.take() {
            Some(head) => (head, false),
            None => (open.store.snapshot().await?, true),
        };
        if again || looked {
            self.read_again(&name, orders, wanted, answers).await;
        }
        let batch = Batch::of(place, wanted, answers);
        match open.store.commit(&head, &batch.changes, &batch.message(), batch.names.must_move).await {
            Ok(Committed::Stale) => Ok(None),
            Ok(Committed::Done { revision }) => {
                open.head = Some(Revision::At(revision.clone()));
                Ok(Some(Committed::Done { revision }))
            }
            // That nothing is to be done must be true of what the store holds now.
            Ok(Committed::Unchanged { revision }) => {
                let now = if looked { head.clone() } else { open.store.snapshot().await? };
                let same = now == head;
                open.head = Some(now);
                Ok(same.then_some(Committed::Unchanged { revision }))
            }
            Err(store::Error::Conflicts { conflicts, .. }) => {
                open.head = Some(head);
                for conflict in conflicts {
                    batch.refuse(&conflict, answers);
                }
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// An order whose record has moved on is left to the command that was given for it since.
    async fn read_again(
        &self,
        store: &StoreName,
        orders: &[Order],
        wanted: &mut Vec<Option<Wanted>>,
        answers: &mut [Answer],
    ) {
        let now = self.read(store, orders, answers).await;
        let before = std::mem::take(wanted);
        let same = |(before, now): (Option<Wanted>, Option<Wanted>)| {
            let serial = before?.serial;
            now.filter(|now| now.serial == serial)
        };
        *wanted = before.into_iter().zip(now).map(same).collect();
    }

    async fn answer(
        &self,
        store: &StoreName,
        order: &Order,
        wanted: Option<Wanted>,
        answer: Answer,
    ) -> Disposition {
        let result = |answer: Answer| match answer {
            Ok(revision) => WriteResult::Written { revision },
            Err(message) => WriteResult::Failed { message },
        };
        let body = match (&order.target, wanted) {
            (WriteTarget::Lane { lane, .. }, Some(Wanted { serial: Some(serial), .. })) => {
                let store = store.id.clone();
                ResultBody::Write(WriteAnswer { lane: lane.clone(), store, serial, answer: result(answer) })
            }
            // What the record wanted could not be read, so the answer is about what was ordered.
            (WriteTarget::Lane { lane, serial }, _) if answer.is_err() => {
                let (store, serial) = (store.id.clone(), *serial);
                ResultBody::Write(WriteAnswer { lane: lane.clone(), store, serial, answer: result(answer) })
            }
            (WriteTarget::Lane { .. }, _) => return Disposition::Ack, // answered before
            (WriteTarget::Destination { destination, generation, .. }, wanted) => {
                ResultBody::Destination(DestinationAnswer {
                    destination: destination.clone(),
                    generation: *generation,
                    place: wanted.and_then(|wanted| wanted.place).filter(|_| answer.is_ok()),
                    store: store.key.clone(),
                    answer: result(answer),
                })
            }
        };
        let about = match &order.target {
            WriteTarget::Lane { lane, .. } => &lane.0,
            WriteTarget::Destination { destination, .. } => destination,
        };
        match self.publish(about, body, order.trace).await {
            Ok(()) => Disposition::Ack,
            Err(error) => {
                tracing::warn!(%about, error = chain(&error), "the answer is given again");
                Disposition::Retry(Duration::from_secs(1))
            }
        }
    }

    async fn publish(
        &self,
        about: &ObjectKey,
        body: ResultBody,
        trace: Option<TraceParent>,
    ) -> Result<(), Error> {
        let subject = subject::result(about);
        let encoded = self.platform.bus.encode(&subject, &ResultMessage { body }, trace)?;
        Ok(self.platform.bus.publish_surely(&subject, &encoded, None).await?)
    }
}

/// All that one commit is made of.
struct Batch {
    changes: Vec<Change>,
    /// Which order each change is for.
    owners: Vec<usize>,
    names: Work,
}

impl Batch {
    fn of(place: &(String, String), wanted: &[Option<Wanted>], answers: &[Answer]) -> Self {
        let mut batch = Self { changes: Vec::new(), owners: Vec::new(), names: Work::default() };
        for (index, (wanted, _)) in
            wanted.iter().zip(answers).enumerate().filter(|(_, (_, answer))| answer.is_ok())
        {
            let Some(work) = wanted.as_ref().and_then(|wanted| wanted.work.get(place)) else { continue };
            batch.changes.extend(work.changes.iter().cloned());
            batch.owners.extend(work.changes.iter().map(|_| index));
            batch.names.updated.extend(work.updated.iter().cloned());
            batch.names.removed.extend(work.removed.iter().cloned());
            batch.names.canary |= work.canary;
            batch.names.must_move |= work.must_move;
        }
        batch
    }

    fn message(&self) -> CommitMessage {
        let Work { updated, removed, canary, .. } = &self.names;
        if *canary && updated.is_empty() && removed.is_empty() {
            return CommitMessage::of_canary();
        }
        CommitMessage::of_batch(updated.iter().map(String::as_str), removed.iter().map(String::as_str))
    }

    fn refuse(&self, conflict: &store::Conflict, answers: &mut [Answer]) {
        let owner = self.owners.get(conflict.change);
        if let Some(answer) = owner.and_then(|owner| answers.get_mut(*owner)) {
            *answer = Err(conflict.to_string());
        }
    }
}

/// Those of the batch that the commit was for.
fn of_place<'a>(
    place: &'a (String, String),
    wanted: &'a [Option<Wanted>],
    answers: &'a mut [Answer],
) -> impl Iterator<Item = (&'a Wanted, &'a mut Answer)> {
    let pairs = wanted.iter().zip(answers).filter_map(|(wanted, answer)| Some((wanted.as_ref()?, answer)));
    pairs.filter(move |(wanted, answer)| wanted.work.contains_key(place) && answer.is_ok())
}

fn remember(
    committed: &Committed,
    place: &(String, String),
    wanted: &[Option<Wanted>],
    answers: &mut [Answer],
) {
    for (wanted, answer) in of_place(place, wanted, answers) {
        *answer = Ok(match committed {
            Committed::Done { revision } => Some(revision.clone()),
            // Nothing new: the revision stays what it was (kratix-F8), or is what the store holds.
            Committed::Unchanged { revision: Revision::At(id) } if !wanted.has_revision => Some(id.clone()),
            Committed::Unchanged { .. } | Committed::Stale => None,
        });
    }
}

fn fail_all(message: &str, place: &(String, String), wanted: &[Option<Wanted>], answers: &mut [Answer]) {
    for (_, answer) in of_place(place, wanted, answers) {
        *answer = Err(message.to_owned());
    }
}
