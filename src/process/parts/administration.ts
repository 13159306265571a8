import { readFileSync } from 'node:fs';
import { scheduler } from 'node:timers/promises';
import { OwnIdentities } from '../../common/access/own-identity.js';
import { EgressAllow } from '../../common/http/egress-allow.js';
import { publicUrlOf, type Settings } from '../../common/settings/settings.js';
import type { AdminServer } from '../../control-plane/administration/server.js';
import { RefusedStart } from '../../control-plane/store/files/refused-start.js';
import { providerRows } from '../../data-plane/providers/rows.js';
import { controlConnections, descriptorLimit } from '../descriptors.js';
import type { ProcessPart } from '../part-list.js';
import type { AnalyticsGiven } from './analytics.js';
import type { Base } from './base.js';
import type { BreakersGiven } from './breakers.js';
import type { IngestionGiven } from './ingestion.js';
import type { LedgerGiven } from './ledger.js';
import type { LogExportsGiven } from './log-exports.js';
import type { MailGiven } from './mail.js';
import type { ChangesGiven } from './other-nodes.js';
import type { PricesGiven } from './prices.js';
import type { Records } from './store.js';
import type { TokensGiven } from './tokens.js';
import type { WorkerProcesses } from './worker-processes.js';

export interface Administration {
  /** null: a node with the role data has none. */
  readonly admin: AdminServer | null;
  /** Lets running calls end; further calls return the same promise. */
  readonly closeAdmin: () => Promise<void>;
}

/** Milliseconds that running calls have to end. */
const graceMs = 1000;
/** How long a change of a counter waits for what was used before it. Milliseconds. */
const answeredMs = 2000;

/** The administration plane: its gRPC port, and what answers the REST requests that data workers receive. */
export const administration: ProcessPart<
  Base &
    Records &
    LedgerGiven &
    AnalyticsGiven &
    LogExportsGiven &
    MailGiven &
    WorkerProcesses &
    IngestionGiven &
    BreakersGiven &
    ChangesGiven &
    TokensGiven &
    PricesGiven,
  Administration
> = {
  name: 'administration',
  async start({
    settings,
    store,
    ledger,
    ingestion,
    analytics,
    logExporter,
    outbox,
    workers,
    breakers,
    forget,
    prices,
    tokens,
    keyServers,
    log,
  }) {
    if (settings.role === 'data') return { admin: null, closeAdmin: async () => {} };
    const { startAdminServer } = await import('../../control-plane/administration/server.js');
    const rows = {
      ...providerRows,
      has: (name: string) => providerRows.has(name) || workers.plugins.providers.has(name),
      names: () => [...providerRows.names(), ...workers.plugins.providers],
    };
    const admin = await startAdminServer({
      host: settings.host,
      port: settings.grpcPort,
      headerPrefixes: settings.headerPrefixes,
      tls: tlsOf(settings),
      reflection: settings.grpcReflection,
      maxConnections: controlConnections(descriptorLimit()).grpc,
      writeTimeoutMs: settings.writeTimeoutMs,
      store,
      ledger,
      feedbacks: ledger.feedbacks,
      logWriter: ledger,
      analytics,
      ...(logExporter !== null && { logExporter }),
      budgets: ledger.budgets,
      answered: () => Promise.race([ingestion.flushRows(), scheduler.wait(answeredMs)]),
      alerts: ledger.alerts,
      outbox,
      changed: forget,
      async validateConfig(text) {
        const { compileConfig } = await import('../../data-plane/routing/compile.js');
        compileConfig(text, {
          slug: 'check',
          version: 'check',
          isProvider: rows.has,
          headerPrefixes: settings.headerPrefixes,
        });
      },
      providers: rows,
      breakers,
      explain: (asked) => workers.explain(asked),
      pricing: prices.book,
      tokens,
      fetchChecked: (url, init) => keyServers.request(url, init),
      keyServerProblem: (url) => keyServers.problemOf(url),
      ownIdentities: new OwnIdentities(settings.ownIdentity),
      egressAllow: new EgressAllow(settings.egressAllow),
      publicUrl: publicUrlOf(settings),
      log,
    });
    let closing: Promise<void> | null = null;
    return {
      admin,
      closeAdmin() {
        closing ??= admin.close(graceMs);
        return closing;
      },
    };
  },
  drain({ closeAdmin }) {
    // `stop` reports failures.
    closeAdmin().catch(() => {});
  },
  stop: ({ closeAdmin }) => closeAdmin(),
};

function tlsOf({ grpcTlsCert, grpcTlsKey }: Settings): { cert: Buffer; key: Buffer } | null {
  if (grpcTlsCert === null && grpcTlsKey === null) return null;
  if (grpcTlsCert === null || grpcTlsKey === null)
    throw new RefusedStart('grpc_tls_cert and grpc_tls_key go together: set both, or neither.');
  return { cert: readFileSync(grpcTlsCert), key: readFileSync(grpcTlsKey) };
}
