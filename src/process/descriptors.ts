import { readFileSync } from 'node:fs';

/**
 * File descriptors that a process reserves for itself: database, journals, logs, libraries, pipes to other processes.
 */
const ownDescriptors = 64;
/** Used if the system has no limit. */
const manyDescriptors = 1_048_576;

/** How many files and sockets this process may have open (`ulimit -n`; Node raises it to the hard limit at start). */
export function descriptorLimit(): number {
  const limits = limitsFile();
  const given = limits === null ? reportedLimit() : /^Max open files\s+(\S+)/m.exec(limits)?.[1];
  const limit = Number(given);
  return Number.isInteger(limit) && limit > 0 ? limit : manyDescriptors;
}

function limitsFile(): string | null {
  try {
    return readFileSync('/proc/self/limits', 'utf8');
  } catch {
    return null;
  }
}

/** Slower, and for systems without /proc. */
function reportedLimit(): unknown {
  const report = process.report.getReport() as unknown as {
    userLimits?: { open_files?: { soft?: unknown } };
  };
  return report.userLimits?.open_files?.soft;
}

/**
 * Limit of client connections of one data worker: half of the process's descriptors, since each of them
 * may need a connection to a provider.
 */
export function clientConnections(limit: number): number {
  return share(limit, 1 / 2, Number.MAX_SAFE_INTEGER);
}

/** Limit of connections to providers of one data worker: the other half. */
export function upstreamConnections(limit: number): number {
  return share(limit, 1 / 2, Number.MAX_SAFE_INTEGER);
}

/** Most requests of one data worker whose answers are read although their clients have disconnected. */
export function abandonedRequestsLimit(limit: number): number {
  return share(limit, 1 / 8, 1000);
}

/** Connections of the control process's listeners, so that descriptors are left for its own files. */
export function controlConnections(limit: number): { grpc: number; ops: number; simulated: number } {
  return {
    grpc: share(limit, 1 / 4, 1000),
    ops: share(limit, 1 / 8, 250),
    simulated: share(limit, 1 / 2, Number.MAX_SAFE_INTEGER),
  };
}

const share = (limit: number, part: number, most: number): number =>
  Math.max(4, Math.min(most, Math.floor((limit - ownDescriptors) * part)));
