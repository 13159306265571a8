import type { ProcessPart } from '../../part-list.js';
import { AdminForwarder } from '../admin-forwarder.js';
import { adminLimits } from '../admission/limits.js';
import type { WorkerBase } from './base.js';

export interface AdminGiven {
  readonly admin: AdminForwarder;
}

/** The hand-over of administration requests to the control process. */
export const adminPart: ProcessPart<WorkerBase, AdminGiven> = {
  name: 'hand-over of administration requests',
  start: ({ init, send }) => ({
    admin: new AdminForwarder(send, init.headerPrefixes, undefined, adminLimits(init.workers)),
  }),
};
