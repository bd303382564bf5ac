// The bill of the embedded engine, by the table of every engine.
import { billingTable } from './billing.ts';
import { startEmbeddedNode } from './embedded_node.ts';
import { ipv4 } from './scenarios/family.ts';

billingTable('the embedded engine', startEmbeddedNode, ipv4);
