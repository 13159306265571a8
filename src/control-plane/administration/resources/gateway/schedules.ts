import type {
  ScheduleRun as RunMessage,
  Schedule as ScheduleMessage,
} from '../../../../../proto/messages.js';
import type { Schedule, ScheduleRun } from '../../../store/store.js';
import { AdminError } from '../../admin-error.js';
import { pageOf, timeOf, timeOrNull } from '../../grpc/wire.js';
import type { AdminParts, Service } from '../../service.js';

/** Work that one node does for all. */
export function schedulesService({ store: { schedules } }: AdminParts): Service<'Schedules'> {
  return {
    async ListSchedules() {
      const all = await schedules.list();
      return { object: 'list', total: all.length, data: all.map(toMessage) };
    },

    async ListScheduleRuns(_caller, request) {
      const runs = await schedules.runs(request.name, pageOf(request));
      if (runs === null) throw new AdminError('AB08', 'There is no such schedule.');
      return { object: 'list', total: runs.total, data: runs.rows.map(runMessage) };
    },
  };
}

const toMessage = ({ name, intervalS, nextDueAt, lastRun }: Schedule): ScheduleMessage => ({
  name,
  interval_s: intervalS,
  next_due_at: timeOf(nextDueAt),
  last_run: lastRun === null ? null : runMessage(lastRun),
});

const runMessage = (run: ScheduleRun): RunMessage => ({
  due_at: timeOf(run.dueAt),
  node_id: run.nodeId,
  started_at: timeOf(run.startedAt),
  ended_at: timeOrNull(run.endedAt),
  outcome: run.outcome,
});
