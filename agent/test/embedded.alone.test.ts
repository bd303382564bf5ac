// The embedded engine, by the scenarios that every engine must pass.
import { startEmbeddedNode } from './embedded_node.ts';
import { engineScenarios } from './scenarios/engine_scenarios.ts';
import { ipv4 } from './scenarios/family.ts';

engineScenarios('the embedded engine', startEmbeddedNode, ipv4);
