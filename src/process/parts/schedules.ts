import { ScheduleRunner } from '../node/schedule-runner.js';
import type { ProcessPart } from '../part-list.js';
import type { Base } from './base.js';
import type { DataDirectory } from './data-directory.js';
import type { Records } from './store.js';

export interface SchedulesGiven {
  readonly schedules: ScheduleRunner;
}

/** Parts that are listed after this one may add work to schedules. */
export const schedulesPart: ProcessPart<Base & DataDirectory & Records, SchedulesGiven> = {
  name: 'schedules',
  start({ settings, nodeId, store, log }) {
    const intervals = settings.schedules;
    return { schedules: new ScheduleRunner({ schedules: store.schedules, nodeId, intervals, log }) };
  },
};

/** Runs what is due from now on, unless nodes of this role run nothing. */
export const runsOfSchedules: ProcessPart<Base & SchedulesGiven, void> = {
  name: 'runs of schedules',
  start({ settings, schedules }) {
    if (settings.role === 'all') schedules.begin();
  },
  drain: ({ schedules }) => schedules.stopLooking(),
  stop: ({ schedules }) => schedules.stop(),
};
