//! Lane records: read from the leader, replaced by compare-and-set.

use domain::id::{LaneKey, ResourceKind};
use domain::lane::Lane;
use domain::time::Timestamp;
use futures::stream::BoxStream;
use messages::record;
use messages::subject::{self, stream};
use messages::trace::TraceParent;

use super::register::{Latest, Register};
use super::{Bus, Error};

/// A record and where it stands.
#[derive(Clone, Debug)]
pub struct Stored {
    pub lane: Lane,
    /// Sequence in the stream; 0 for a lane without a record.
    pub at: u64,
}

#[derive(Clone)]
pub struct Records {
    register: Register,
    incarnation: u64,
}

impl Records {
    pub async fn open(bus: &Bus) -> Result<Self, Error> {
        Ok(Self { register: Register::open(bus, stream::STATE).await?, incarnation: bus.incarnation() })
    }

    /// The newest record; an empty one for a lane without.
    pub async fn load(&self, key: &LaneKey) -> Result<Stored, Error> {
        match self.register.load(&subject::record(key)).await? {
            Some(latest) => decode(&latest),
            None => Ok(Stored { lane: Lane::new(key.clone(), self.incarnation), at: 0 }),
        }
    }

    /// Writes the successor of `expected`. None: the record has moved.
    pub async fn save(
        &self,
        lane: &Lane,
        expected: u64,
        now: Timestamp,
        trace: Option<TraceParent>,
    ) -> Result<Option<u64>, Error> {
        let subject = subject::record(&lane.key);
        let failed = |source| Error::Message { subject: subject.clone(), source };
        let encoded = record::encode(lane, now, trace).map_err(failed)?;
        self.register.put(&subject, &encoded, expected).await
    }

    /// All records, or those of one kind of object.
    pub async fn scan(&self, kind: Option<&ResourceKind>) -> Result<Vec<Stored>, Error> {
        let filter = kind.map_or_else(|| subject::ALL_RECORDS.to_owned(), subject::records_of);
        let all = self.register.scan(&filter).await?;
        let decoded = all.iter().filter_map(|latest| match decode(latest) {
            Ok(stored) => Some(stored),
            Err(error) => {
                // One record that cannot be read must not stop the others.
                tracing::error!(
                    subject = latest.subject,
                    error = crate::telemetry::chain(&error),
                    "record left out"
                );
                None
            }
        });
        Ok(decoded.collect())
    }

    /// Leaves nothing of a released lane but its tombstone.
    pub async fn forget_history(&self, key: &LaneKey) -> Result<(), Error> {
        self.register.forget_history(&subject::record(key)).await
    }
}

impl Bus {
    /// A tick for every transition of one lane, or of all.
    pub async fn watch_records(&self, lane: Option<&LaneKey>) -> Result<BoxStream<'static, ()>, Error> {
        let filter = lane.map_or_else(|| subject::ALL_RECORDS.to_owned(), subject::record);
        let register = Register::open(self, stream::STATE).await?;
        register.changes(&filter).await
    }
}

fn decode(latest: &Latest) -> Result<Stored, Error> {
    let failed = |source| Error::Message { subject: latest.subject.clone(), source };
    let lane = record::decode(|name| latest.header(name), &latest.payload).map_err(failed)?;
    Ok(Stored { lane, at: latest.sequence })
}
