import type { ProcessPart } from '../part-list.js';
import type { SchedulesGiven } from './schedules.js';
import type { Records } from './store.js';

/** Deletes expired records. */
export const pruning: ProcessPart<Records & SchedulesGiven, void> = {
  name: 'pruning of records',
  start({ store, schedules }) {
    schedules.add('prune', () => store.prune());
  },
};
