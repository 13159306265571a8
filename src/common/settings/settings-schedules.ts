import type { StageDeclaration } from '../plugin-host/plugin.js';
import type { SettingKind } from './settings-kinds.js';

interface DeclaredSchedule {
  /** Between two runs, unless set otherwise. */
  readonly seconds: number;
  readonly doc: string;
}

/** Schedules of the gateway itself. A part of the control process adds the work under the same name. */
const own: Readonly<Record<string, DeclaredSchedule>> = {
  prune: { seconds: 600, doc: 'removes records whose time is over' },
  'log-sinks': { seconds: 5, doc: 'sends rows of requests to `log_sinks`; a run lasts up to ten minutes' },
  'log-exports': { seconds: 15, doc: 'continues exports of logs that another node did not finish' },
  'key-rotation': {
    seconds: 10,
    doc: 'rotates keys, ends old secrets, and notifies people before and after',
  },
  retention: { seconds: 60, doc: 'deletes logs whose time is over' },
  anomalies: {
    seconds: 30,
    doc: 'compares cost, errors, latency and traffic with the same hours of past weeks',
  },
  rollups: { seconds: 60, doc: 'rolls up days of analytics over a ledger in PostgreSQL' },
  partitions: { seconds: 3600, doc: 'makes and drops partitions of a ledger in PostgreSQL' },
};

/** A day at most. */
const longest = 86_400;

/** Every schedule: the gateway's own, and those of stages as `<stage>-<name>`. */
export function declaredSchedules(
  stages: readonly StageDeclaration[],
): Readonly<Record<string, DeclaredSchedule>> {
  const all = { ...own };
  for (const { name: stage, schedules = {} } of stages)
    for (const [name, declared] of Object.entries(schedules)) all[`${stage}-${name}`] = declared;
  return all;
}

export const defaultSeconds = (
  declared: Readonly<Record<string, DeclaredSchedule>>,
): Readonly<Record<string, number>> =>
  Object.fromEntries(Object.entries(declared).map(([name, { seconds }]) => [name, seconds]));

/** Seconds by the name of a schedule; those that are not named keep their own. As text `prune=600,other=60`. */
export function schedulesKind(
  declared: Readonly<Record<string, DeclaredSchedule>>,
): SettingKind<Readonly<Record<string, number>>> {
  const seconds = { type: 'integer', minimum: 1, maximum: longest };
  return {
    type: 'seconds by name',
    schema: {
      type: 'object',
      additionalProperties: false,
      properties: Object.fromEntries(Object.keys(declared).map((name) => [name, seconds])),
    },
    fromText: (line) =>
      Object.fromEntries(
        line.split(',').map((item) => {
          const [name = '', value = ''] = item.split('=').map((part) => part.trim());
          return [name, /^\d{1,15}$/.test(value) ? Number(value) : value];
        }),
      ),
    make: (checked) => Object.freeze({ ...defaultSeconds(declared), ...(checked as Record<string, number>) }),
  };
}
