import type { ProcessPart } from '../part-list.js';
import type { Base } from './base.js';
import type { MailGiven } from './mail.js';
import type { ChangesGiven } from './other-nodes.js';
import type { SchedulesGiven } from './schedules.js';
import type { Records } from './store.js';

/** Rotates keys, and notifies people of what happens to them in time. */
export const keyRotationPart: ProcessPart<Base & Records & SchedulesGiven & MailGiven & ChangesGiven, void> =
  {
    name: 'rotation of keys',
    start({ store, outbox, forget, schedules, log }) {
      schedules.add('key-rotation', async (run) => {
        const { runKeyDuties } = await import('../../control-plane/rotation/key-duties.js');
        await runKeyDuties({ store, outbox, forget, log }, run);
      });
    },
  };
