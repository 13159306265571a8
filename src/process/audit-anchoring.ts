import type { Logger } from '../common/plugin-host/plugin.js';
import type { AnchorFile } from '../control-plane/store/files/anchor-file.js';
import { type AuditAnchor, datedAfter } from '../control-plane/store/files/audit-anchors.js';
import type { AuditStore } from '../control-plane/store/store.js';

export interface AnchoringOptions {
  readonly audit: AuditStore;
  /** null: anchors are not kept in a file. */
  readonly file: AnchorFile | null;
  /** Are anchors written to the process log? */
  readonly toLog: boolean;
  readonly log: Logger;
  readonly everyMs?: number;
}

export interface Anchoring {
  /** Resolves when the anchors of earlier runs are in effect, or could not be read, which is logged. */
  readonly loaded: Promise<void>;
  /** Resolves when the present ends are recorded as well. */
  readonly started: Promise<void>;
  /** Records the ends that have moved, without waiting for the minute to end. */
  recordNow(): Promise<void>;
  /** Records the last rows once more. */
  stop(): Promise<void>;
}

/**
 * Records the end of each organisation's audit log outside the database, once a minute if it has changed. At start,
 * earlier records are read: a log that now ends earlier gets no more rows.
 */
export function startAnchoring(options: AnchoringOptions): Anchoring {
  const { log, everyMs = 60_000 } = options;
  const recorder = new Recorder(options);
  const problem = (error: unknown): void =>
    log.error(
      { err: error },
      'The ends of the audit logs could not be recorded; the next minute tries again.',
    );
  const loaded = recorder.load().catch(problem);
  const started = loaded.then(() => recorder.record()).catch(problem);
  let turn = started;
  const recordNow = (): Promise<void> => {
    turn = turn.then(() => recorder.record()).catch(problem);
    return turn;
  };
  const timer = setInterval(recordNow, everyMs).unref();
  return {
    loaded,
    started,
    recordNow,
    stop() {
      clearInterval(timer);
      return recordNow();
    },
  };
}

class Recorder {
  /** The last recorded anchors, by organisation. */
  readonly #recorded = new Map<string, AuditAnchor>();

  constructor(readonly options: AnchoringOptions) {}

  async load(): Promise<void> {
    const { audit, file, log } = this.options;
    if (file === null) return;
    const { anchors, rejected } = await file.newest((line) => audit.readAnchor(line));
    if (rejected > 0) {
      log.warn(
        { lines: rejected, file: file.path },
        'Some audit anchors are incomplete or not of this store.',
      );
    }
    for (const anchor of anchors) {
      audit.requireAnchor(anchor);
      this.#recorded.set(anchor.organisation, anchor);
    }
  }

  async record(): Promise<void> {
    const { audit, file, toLog, log } = this.options;
    const ends = await audit.ends();
    const present = new Set(ends.map(({ organisation }) => organisation));
    for (const [organisation, { seq, time }] of this.#recorded) {
      if (present.has(organisation)) continue;
      log.error(
        { organisation, seq, anchored_at: time },
        'The audit log ends before a row that was anchored: nothing is appended to it. Run headgate audit verify; after a restore by other means, headgate audit accept.',
      );
    }
    const moved = ends
      .filter(({ organisation, seq }) => this.#recorded.get(organisation)?.seq !== seq)
      .map((end) => datedAfter(end, this.#recorded.get(end.organisation)));
    if (moved.length === 0) return;
    if (file !== null) await file.append(moved.map(sign), () => newest(this.#recorded).map(sign));
    if (toLog) for (const anchor of moved) log.info({ anchor: JSON.parse(sign(anchor)) }, 'audit anchor');
    for (const anchor of moved) this.#recorded.set(anchor.organisation, anchor);

    /** Of all organisations, including a log that was set back, since its anchor proves that. */
    function newest(recorded: ReadonlyMap<string, AuditAnchor>): readonly AuditAnchor[] {
      const all = new Map(recorded);
      for (const anchor of moved) all.set(anchor.organisation, anchor);
      return [...all.values()];
    }

    function sign(anchor: AuditAnchor): string {
      return audit.signAnchor(anchor);
    }
  }
}
