/** Platforms and types: names, icons and colours. Add a row to support another platform. */
import { BrainCircuit, CodeXml, Cylinder, Database, DatabaseZap, File, Layers, MountainSnow, Network, Package, Play, Radio, Table2, Warehouse, Workflow, type IconNode } from "lucide";
import { siApacheairflow, siApachekafka, siApachespark, siMlflow, siPostgresql } from "simple-icons";

export interface Platform {
  name: string;
  /** Shapes on a grid of 24 by 24: lines, or filled for brands. */
  icon: IconNode;
  isFilled: boolean;
  /** CSS colour with a contrast of at least 3:1 in the light and the dark theme. */
  colour: string;
  /** Patterns that a node of the platform must all match. */
  match: { platform?: RegExp; namespace?: RegExp; kind?: RegExp };
}

/** The fields of a node that determine its platform. */
export interface Described {
  kind: string;
  namespace: string;
  platform: string | null;
}

const brand = ({ path }: { path: string }): Pick<Platform, "icon" | "isFilled"> => ({ icon: [["path", { d: path }]], isFilled: true });
const lines = (icon: IconNode): Pick<Platform, "icon" | "isFilled"> => ({ icon, isFilled: false });
const both = (light: string, dark: string) => `light-dark(${light}, ${dark})`;

/** Platforms in order of precedence. Brand icons are from simple-icons (CC0), all others from lucide (ISC). */
export const PLATFORMS: readonly Platform[] = [
  { name: "Model", ...lines(BrainCircuit), colour: both("#8a3ffc", "#c4a1ff"), match: { kind: /^model$/ } },
  { name: "Artifact", ...lines(Package), colour: both("#a14a00", "#f2a65e"), match: { kind: /^artifact$/ } },
  { name: "Airflow", ...brand(siApacheairflow), colour: both("#0277ce", "#8ad0ff"), match: { platform: /^airflow$/i } },
  { name: "Metaflow", ...lines(Workflow), colour: both("#6a3fb5", "#b99cf2"), match: { platform: /^metaflow$/i } },
  { name: "Spark", ...brand(siApachespark), colour: both("#cf4a12", "#f5865a"), match: { platform: /^spark$/i } },
  { name: "dbt", ...lines(Layers), colour: both("#c8441f", "#ff8d6b"), match: { platform: /^dbt$/i } },
  { name: "MLflow", ...brand(siMlflow), colour: both("#0177b0", "#43bdf5"), match: { platform: /^mlflow$/i } },
  { name: "Iceberg", ...lines(MountainSnow), colour: both("#1473a8", "#6cc4f5"), match: { platform: /^iceberg$/i } },
  { name: "Glue", ...lines(DatabaseZap), colour: both("#7d3fc2", "#bd93f0"), match: { namespace: /^(arn:aws[\w-]*:glue|glue):/ } },
  { name: "Redshift", ...lines(Warehouse), colour: both("#6b4fd8", "#ab9bff"), match: { namespace: /^redshift:/ } },
  { name: "Kafka", ...brand(siApachekafka), colour: both("#3a3638", "#d6d3d5"), match: { namespace: /^kafka:/ } },
  { name: "Postgres", ...brand(siPostgresql), colour: both("#3457c9", "#8ea8ff"), match: { namespace: /^postgres(ql)?:/ } },
  { name: "S3", ...lines(Cylinder), colour: both("#3f7d20", "#86cc5f"), match: { namespace: /^s3[an]?:/ } },
  { name: "Hive", ...lines(Database), colour: both("#8a6d00", "#e2bf3c"), match: { namespace: /^hive:/ } },
  { name: "File", ...lines(File), colour: both("#5d616d", "#a0a4b0"), match: { kind: /^file$/ } },
  { name: "Stream", ...lines(Radio), colour: both("#5d616d", "#a0a4b0"), match: { kind: /^stream$/ } },
  { name: "Pipeline", ...lines(Network), colour: both("#4950c4", "#9ba1ff"), match: { kind: /^pipeline$/ } },
  { name: "Task", ...lines(Play), colour: both("#4950c4", "#9ba1ff"), match: { kind: /^(task|run)$/ } },
  { name: "Query", ...lines(CodeXml), colour: both("#4950c4", "#9ba1ff"), match: { kind: /^query$/ } },
];

const OTHER: Platform = { name: "Table", ...lines(Table2), colour: both("#5d616d", "#a0a4b0"), match: {} };

/** Return the platform of a node, or its type if the platform is unknown. */
export function platformOf(node: Described): Platform {
  return PLATFORMS.find(({ match }) => (["platform", "namespace", "kind"] as const).every((key) => match[key]?.test(node[key] ?? "") ?? true)) ?? OTHER;
}

/** Return the platform and the type as text: Airflow task, Iceberg table, Model. */
export function kindText(node: Described): string {
  const { name } = platformOf(node);
  const type = node.kind || "table";
  return name.toLowerCase() === type ? name : `${name} ${type}`;
}
