"""What makes no sense is refused in words that say what fits. Oracle: the words. What lies outside the limits of a
signature is in test_limits.py; what is wrong with images, labels and masks, at every call, in test_containers.py."""

from collections.abc import Callable
from pathlib import Path

import networkx as nx
import pandas as pd
import pytest
import torch
import train_judges
from pictures import seeded
from strategies import connectome
from torch import nn
from torch.utils.data import (
    BatchSampler,
    ChainDataset,
    DataLoader,
    Dataset,
    RandomSampler,
    Subset,
    SubsetRandomSampler,
    TensorDataset,
)

from pcgraph_lite import Activation, PCGraph, accuracy, counterfactual, fit, observed, query, relax, sample, topology
from pcgraph_lite.baselines import rivals
from pcgraph_lite.baselines.hopfield import Hopfield, fit_hopfield
from pcgraph_lite.engine.augment import shift_and_mirror
from pcgraph_lite.engine.learning import minus_completion_error
from pcgraph_lite.engine.scale import Scale
from pcgraph_lite.engine.topology import Edges, Topology
from pcgraph_lite.errors import BadInput, BadValues, PCGraphError, UnknownGroup, UnknownName, UnstableStep, WrongShape
from pcgraph_lite.images import datasets, judge, metrics
from pcgraph_lite.studies import causal, circuits, structure, tasks, uncertainty
from pcgraph_lite.studies.causal import Example
from pcgraph_lite.studies.convergence import watch
from reproduction.book import plots
from reproduction.evidence import decimals, records

GRAPH = PCGraph(topology.generative(3, [4], 6))
TWINS = PCGraph(GRAPH.topology, replicas=2)
CHAIN = PCGraph(Topology({"a": 1, "b": 1, "c": 1}, [Edges("a", "b"), Edges("b", "c")]), "linear")
IMAGES, LABELS, ONE, NAN = torch.rand(10, 6), torch.arange(10) % 3, torch.ones(1, 1), float("nan")
GOOD, KNOWN, DIGITS = IMAGES[:2], torch.arange(6) < 3, torch.rand(128, 784)
TWO, FRAME = PCGraph(topology.from_mask(torch.ones(2, 2))), pd.DataFrame({"seed": [0], "mse": [0.1]})
Case = tuple[Callable[[], object], type[PCGraphError], str]


def made(**arguments: object) -> Callable[[], object]:
    return lambda: PCGraph(GRAPH.topology, **arguments)


def learned(data: object = (IMAGES, LABELS), **settings: object) -> Callable[[], object]:
    return lambda: fit(**{"graph": PCGraph(GRAPH.topology), "data": data, "epochs": 2, "progress": False} | settings)


def drawn(**settings: object) -> Callable[[], object]:
    return lambda: sample(GRAPH, clamp={"pixels": GOOD[:1]}, **settings)


def wired(change: Callable[[nx.DiGraph], object] = len, **arguments: object) -> Callable[[], object]:
    def call() -> object:
        change(wires := connectome())
        return topology.from_networkx(wires, **arguments)
    return call


def stored(**settings: object) -> Callable[[], object]:
    usual = {"images": torch.rand(10, 64), "labels": LABELS, "sizes": [8], "progress": False}
    return lambda: fit_hopfield(Hopfield((1, 8, 8), 3), **usual | settings)


TOPOLOGIES: list[Case] = [
    (lambda: topology.from_mask(torch.ones(2, 3)), WrongShape, r"\(2, 3\).*square"),
    (lambda: topology.from_mask(torch.full((2, 2), 0.5)), BadInput, "other than 0 and 1"),
    (lambda: topology.from_mask(torch.sparse_coo_tensor([[0], [1]], [0.5], (3, 3))), BadInput, "other than 0 and 1"),
    (lambda: topology.from_mask(torch.ones(2, 2), {"a": 3}), WrongShape, "groups hold 3 vertices, the mask 2"),
    (lambda: topology.from_networkx(nx.Graph()), BadInput, "no nodes"),
    (wired(attribute="Group"), UnknownName, "no node attribute 'Group'.*Did you mean 'group'"),
    (wired(weight="wieght"), UnknownName, "no edge attribute 'wieght'.*Did you mean 'weight'"),
    (wired(nodelist=["a", "b", "c", "D"]), UnknownName, "no node 'D'"),
    (wired(nodelist=["a", "b", "c"]), BadInput, "leaves out 1 nodes, the first of them 'd'"),
    (wired(nodelist=["a", "b", "c", "d", "a"]), BadInput, "nodes names 'a' twice"),
    (wired(sensory=["sean"], weight="weight"), UnknownGroup, "no vertex group 'sean'.*Did you mean 'seen'"),
    *((wired(lambda wires, weight=weight: wires["b"]["a"].update(weight=weight), weight="weight"), error, says)
      for weight, error, says in ((None, BadInput, "tensor of numbers"), ("x", BadInput, "tensor of numbers"),
                                  (float("inf"), BadValues, "infinite"))),
    (wired(lambda wires: wires["b"]["a"].clear(), weight="weight"), BadInput, "the edge 'b' -> 'a' has no 'weight'"),
    (wired(lambda wires: (wires.nodes["a"].update(group=1), wires.nodes["b"].update(group="1"))), BadInput,
     "'group' has 1 and '1', which are the same name of a group"),
    (lambda: topology.to_networkx(TWINS), BadInput, "2 replicas"),
    (lambda: topology.to_networkx(nx.Graph()), BadInput, "expected a PCGraph or a Topology"),
    (lambda: Topology({"a": 2}, [Edges("a", "a", weights=torch.ones(3))]), WrongShape,
     r"first weights of 'a' -> 'a' are \(3,\); expected \(4,\)"),
    (lambda: Topology({"a": 2}, [], nodes=["x"]), WrongShape, "nodes names 1 vertices; expected 2"),
    (lambda: Topology({"a": 2}, [], nodes=["x", "x"]), BadInput, "nodes names 'x' twice"),
    (lambda: topology.assemblies(2, 10, 0.5, 11, generator=seeded()), BadInput, "pixels = 11"),
    (lambda: topology.assemblies(2, 10, 0.5, 4, links=[(0, 2)], generator=seeded()), BadInput, r"\(0, 2\)"),
    (lambda: topology.small_world(4, 2, 3, neighbours=9, generator=seeded()), BadInput, "neighbours = 9"),
    (lambda: topology.small_world(4, 2, 3, neighbours=5, generator=seeded()), BadInput, "even number"),
    (lambda: Topology({"a": 2}, [Edges("a", "b")]), UnknownGroup, "'b'"),
    (lambda: Topology({"a": 2, "b": 1}, [Edges("a", "b")] * 2), BadInput, "'a' -> 'b' are .* twice"),
    (lambda: Topology({"a": 2, "b": 1}, [Edges("a", "b", torch.ones(2, 3).bool())]), WrongShape,
     r"'a' -> 'b' is \(2, 3\).*expected \(2, 1\)"),
    (lambda: Edges("a", "b", torch.ones(2, 3).bool().to_sparse(1)), WrongShape, "sparse in 1 of 2 dimensions"),
    (lambda: topology.from_mask(torch.ones(3, 3).to_sparse(1)), WrongShape, "sparse in 1 of 2 dimensions"),
    (lambda: Topology({"a": 2, "b": 1}, [], pools=[["a"]]), BadInput, "exactly once"),
    (lambda: Topology({"a": 2}, [], pools=[["a"], []]), BadInput, "none may be empty"),
    (lambda: Topology({"a": 2}, [], ["a", "a"]), BadInput, r"\('a', 'a'\); expected each group once"),
    (lambda: Topology({"a": 2}, [], nodes=[[1], [2]]), BadInput, r"nodes = \(\[1\], \[2\]\): unhashable"),
    (lambda: Edges("a", "b").pairs(), BadInput, r"'a' -> 'b' are all pairs.*ask topology\.pairs"),
    (lambda: GRAPH.topology.outwards("labels"), UnknownGroup, "no vertex group 'l'"),
    (lambda: topology.generative().leads_on(["label"]), UnknownGroup, "Did you mean 'labels'"),
    (lambda: topology.generative().slice("pixles"), UnknownGroup,
     r"'pixles'\. Known: pixels, labels, hidden1, .*Did you mean 'pixels'"),
    (lambda: Topology({f"g{k}": 1 for k in range(1000)}, []).slice("x"), UnknownGroup, "g199 and 800 more"),
    (lambda: topology.fully_connected(4, 2, 3, without=[("pixels", "lables")]), UnknownGroup,
     r"no vertex group 'lables'.*Did you mean 'labels'")]

GRAPHS: list[Case] = [
    (made(activation="hardtan"), UnknownName, "'hardtan'.*Did you mean 'hardtanh'"),
    (made(activations="tanh"), UnknownName, "no argument of PCGraph 'activations'.*plan.*Did you mean 'activation'"),
    (made(activation=torch.tanh), BadInput, "no slope; give pcg.Activation.*Did you mean 'tanh'"),
    (made(activation=nn.ReLU()), BadInput, "Did you mean 'relu'"),
    (made(dtype=torch.float16), BadInput, r"dtype = torch\.float16"),
    (made(init_std={"labels -> hidden1": -1.0}), BadInput, "hidden1'. = -1.0"),
    (made(init_std={"labels -> hiden1": 1.0}), UnknownName, "Did you mean 'labels -> hidden1'"),
    (made(pixel_scale="[-1, 1]"), BadInput, "PCGraph: pixel_scale = .*expected Scale"),
    (lambda: PCGraph(GRAPH.topology, "tanh", 0.5), BadInput,
     "PCGraph: 3 arguments without names; expected at most topology, activation, and"),
    *((lambda given=given: Scale(*given), BadInput, f"Scale: {name} = ") for name, given in (
        ("unit", ("x", 0.0, 0.0)), ("offset", ("x", NAN)), ("name", (3,)))),
    *((lambda kinks=kinks: Activation(torch.sin, torch.cos, kinks), BadInput,
       r"kinks = .*expected pairs of a place and a side") for kinks in (
           0.0, (0.0,), [(0.0, 1)], ((0.0, 0.99),), ((0.0, 1, 2),), (("a", 1),))),
    *((lambda given=given: Activation(*given), BadInput, r"f = .*, slope = .*; expected two functions") for given in (
        ("tanh", torch.cos), (torch.tanh, None))),
    *((made(activation=Activation(*given)), BadInput, says) for given, says in (
        ((torch.tanh, lambda x: 1.0), r"slope\(x\) is 1\.0; expected a tensor of the shape"),
        ((torch.tanh, lambda x: torch.ones(1)), r"slope\(x\) is <Tensor \(1,\)"),
        ((lambda x: x.double(), torch.ones_like), r"f\(x\) is <Tensor .* torch\.float64>; .* type of x"),
        ((torch.sqrt, torch.ones_like), "f is not finite everywhere"),
        ((lambda x: x.clamp_(-1, 1), torch.ones_like), "f changes its argument"),
        ((lambda x: x.softmax(-1), torch.ones_like), "expected an element-wise function"),
        ((torch.relu, lambda x: x >= 0), r"slope\(x\) is <Tensor \(25,\) torch.bool>"),
        ((torch.relu, lambda x: (x >= 0).double()), r"slope\(x\) is <Tensor \(25,\) torch.float64>"),
        ((nn.PReLU(), torch.ones_like), "f fails on values of torch.float64"),
        ((lambda x: x.missing(), torch.cos), "f fails on values of torch.float64 .*missing"),
        *(((torch.tanh, lambda x: 1 - x.tanh() ** 2, (), wrong), "does not multiply gradient by slope") for wrong in (
            lambda g, x, fx: g.mul_(fx), lambda g, x, fx: g * (1 - fx**2))),
        ((lambda x: x.tanh(), lambda x: 1 - x.tanh() ** 2, (), torch.mul), "takes other arguments"))),
    (lambda: GRAPH.energy(torch.zeros(1, 5, 13)), WrongShape, "batch, 13"),
    (lambda: GRAPH.energy(torch.zeros(5, 13, dtype=torch.float64)), WrongShape, r"float64.*float32"),
    (lambda: GRAPH.energy(torch.zeros(5, 13).numpy()), BadInput, "x is a ndarray; expected a tensor"),
    (lambda: GRAPH.group_prediction(torch.zeros(5, 12), "pixels"), WrongShape, "batch, 13"),
    (lambda: GRAPH.group_prediction([[0.0] * 13], "pixels"), BadInput, "x is a list; expected a tensor"),
    (lambda: GRAPH.set_weight(torch.ones(13, 13)), BadInput, "no edge"),
    (lambda: GRAPH.set_edge_weights([None]), WrongShape, "1 weights; expected .* each of the 2 entries"),
    (lambda: GRAPH.set_edge_weights(None), BadInput, "weights = None is .*; expected a list"),
    (lambda: GRAPH.set_edge_weights([torch.tensor(1.0), None]), WrongShape, r"are \(\); expected \(12,\)"),
    (lambda: GRAPH.set_edge_weights([None, [NAN] * 24]), BadValues, "the weights of 'hidden1 -> pixels'"),
    (lambda: PCGraph(GRAPH.topology, bias=True).load_state_dict(
        PCGraph(GRAPH.topology, bias=True).state_dict() | {"bias": torch.full((1, 13), NAN)}), BadValues, "bias"),
    (lambda: GRAPH(torch.zeros(5, 13)), BadInput, r"pcg\.query\(graph, clamp=")]

QUERIES: list[Case] = [
    (lambda: query(GRAPH), BadInput, "nothing is asked"),
    (lambda: query(GRAPH, {"pixels": GOOD}, None, {"labels": GOOD[:, :3]}), BadInput,
     "query: 4 arguments without names; expected at most graph, clamp, init"),
    (lambda: query(GRAPH, {"pixles": GOOD}), UnknownGroup, "Did you mean 'pixels'"),
    (lambda: query(GRAPH, {"pixels": GOOD}, steps=1).to("cpu").values["label"], UnknownGroup, "Did you mean 'labels'"),
    (lambda: query(GRAPH, {"pixels": torch.rand(2, 7)}), WrongShape, r"clamp\['pixels'\] is \(2, 7\).*\(batch, 6\)"),
    (lambda: query(GRAPH, {"pixels": GOOD}, {"labels": torch.rand(3, 3)}), WrongShape, "batch sizes differ"),
    (lambda: query(GRAPH, {"pixels": GOOD[:1]}, {"pixels": torch.rand(3, 6)}), WrongShape,
     r"clamp\['pixels'\] has 1, init\['pixels'\] has 3"),
    (lambda: query(GRAPH, init={"pixels": GOOD / 0}), BadValues, r"init\['pixels'\].*, or say which.*pcg\.observed"),
    (lambda: query(GRAPH, {"pixels": observed(torch.rand(5, 6), torch.ones(2, 6).bool())}), WrongShape,
     r"expected \(6,\) or \(5, 6\)"),
    (lambda: query(TWINS, {"pixels": observed(torch.rand(2, 5, 6), torch.ones(3, 6).bool())}), WrongShape,
     r"expected \(6,\) or \(5, 6\)"),
    (lambda: query(GRAPH, {"pixels": observed(torch.rand(2, 6), torch.ones(2, 2, 2) > 0)}), WrongShape,
     r"mask of clamp\['pixels'\] is \(2, 2, 2\); expected \(6,\)"),
    (lambda: query(GRAPH, dict.fromkeys(GRAPH.topology.groups, GOOD)), WrongShape, "labels"),
    (lambda: query(GRAPH, {"pixels": GOOD, "labels": torch.ones(2, 3), "hidden1": torch.ones(2, 4)}), BadInput,
     "every vertex is clamped"),
    (lambda: query(GRAPH, {"pixels": GOOD}, value_lr=torch.ones(2)), WrongShape, "one for each of . replicas"),
    (lambda: relax(GRAPH, torch.full((2, 13), NAN), torch.zeros(13).bool()), BadValues, "NaN"),
    (lambda: query(CHAIN, {"a": ONE}, do={"a": ONE}), BadInput, "1 vertices of 'a' are under both clamp and do"),
    (lambda: query(CHAIN, do={"aa": ONE}), UnknownGroup, "'aa'"),
    (lambda: counterfactual(CHAIN, {}, {"a": ONE}), BadInput, "observed = {}; expected a mapping of at least 1"),
    (lambda: counterfactual(CHAIN, {"b": ONE}, {}), BadInput, "do = {}; expected a mapping of at least 1"),
    (lambda: counterfactual(CHAIN, {"b": ONE[0]}, {"a": ONE}), WrongShape, r"^observed\['b'\] is \(1,\)"),
    (lambda: counterfactual(CHAIN, {"b": ONE}, {"a": ONE[0]}), WrongShape, r"^do\['a'\] is \(1,\)"),
    (lambda: counterfactual(CHAIN, {"a": ONE, "b": ONE.expand(2, 1)}, {"a": ONE}), WrongShape,
     r"observed\['a'\] has 1, observed\['b'\] has 2"),
    (lambda: counterfactual(CHAIN, {"b": ONE}, {"a": ONE.expand(2, 1)}), WrongShape, "do is of 2"),
    (drawn(temperature=torch.ones(2)), WrongShape,
     r"temperature is \(2,\); expected one number, or one for each of 1 examples"),
    (drawn(temperature=torch.zeros(1)), BadInput, "temperature holds 0; expected numbers above 0"),
    (lambda: query(GRAPH, {"pixels": GOOD}, steps=10**400), BadInput, r"bit int>; .*not as large"),
    (drawn(steps=5, every=10), BadInput, "steps = 5 with every = 10 give no sample; expected steps of at least 10"),
    (drawn(chains=10**9), BadInput, "samples would take")]

TRAININGS: list[Case] = [
    (learned(epoch=3), UnknownName, "no argument of fit 'epoch'.*Did you mean 'epochs'"),
    (learned(warm_up=2), BadInput, "warm_up = 2 epochs of 2; expected fewer"),
    (learned(score="accuracy"), BadInput, "needs validation data"),
    *((learned((IMAGES, IMAGES[:, :1]), graph=PCGraph(topology.discriminative(6, [], 1)), score=score, validation=0.2),
       BadInput, says) for score, says in (("accuracy", "two classes"), (accuracy, "only one"))),
    (learned(patience=1), BadInput, "patience = 1 .*no validation data"),
    (learned(score=lambda graph, batch: 0.0), BadInput, "score function has no validation data"),
    (learned(score="completion"), BadInput, "score='completion' has no validation data .* such as validation=0.1"),
    (learned((IMAGES[:5], LABELS)), WrongShape, "differ in length"),
    *((learned(data, graph=PCGraph(topology.generative(0, [4], 6))), BadInput, f"only 'pixels'.*{why}")
      for data, why in (((IMAGES, LABELS[:7]), "expected 10 whole"), (TensorDataset(IMAGES, IMAGES), "Give {group: v"),
                        ((IMAGES, "not even data"), "a str"))),
    *((learned(graph=PCGraph(topology.from_mask(torch.ones(6, 6), groups, list(groups)))), BadInput,
       f"not plain.*{list(groups)[-1]}") for groups in ({"a": 3, "b": 2, "c": 1}, {"labels": 6})),
    (learned({"pixel": IMAGES}), UnknownGroup, "Did you mean 'pixels'"),
    (learned({"pixels": observed(IMAGES, IMAGES > 0.5)}), BadInput, "pixels is observed.*need whole data"),
    (learned({"pixels": IMAGES / 0}), BadValues, r"clean the data first\. Did a query diverge\?"),
    (learned((IMAGES, LABELS, LABELS)), BadInput, r"tuple; expected \(images, labels\)"),
    (learned(validation={"labels": LABELS}), BadInput, "the validation data lack pixels"),
    (lambda: minus_completion_error(PCGraph(Topology({"x": 1}, [])), {"x": IMAGES[:, :1]}), BadInput,
     "'completion' asks for one half of the group 'x'"),
    (learned((GOOD, LABELS[:2]), validation=0.99), BadInput, "validation = 0.99 .* 2 of 2 .*none is left to train"),
    (learned((GOOD[:1], LABELS[:1]), validation=0.01), BadInput, "validation = 0.01 .* 1 of 1 .*Give a smaller share"),
    (learned(validation=0.2, score=lambda graph, batch: NAN), BadValues, "epoch 1 is nan"),
    *((learned(validation=0.2, score=lambda graph, batch, found=found: found), BadInput,
       f"lambda.* returned {says}; expected one number") for found, says in (
           (None, "None"), ("0.5", "'0.5'"), (IMAGES, r"<Tensor \(10, 6\) torch.float32>"))),
    (learned(value_lr=50.0), UnstableStep, "value_lr = 50"),
    (learned(ChainDataset([])), BadInput, "ChainDataset says no length"),
    (learned(type("Endless", (Dataset,), {"__getitem__": lambda self, k: IMAGES[0]})()), BadInput,
     "Endless says no length"),
    *((learned(DataLoader(TensorDataset(IMAGES, LABELS), **how)), BadInput,
       "makes its own batches; give the data set") for how in (
           {"batch_sampler": BatchSampler(range(10), 5, drop_last=False)}, {"batch_size": None})),
    (learned(Subset(IMAGES, [])), BadInput, "Subset has no examples"),
    *((learned(DataLoader(TensorDataset(IMAGES, LABELS), 5, sampler=sampler)), BadInput,
       f"takes its examples from a {type(sampler).__name__}.*Subset")
      for sampler in (SubsetRandomSampler(range(5)), *(
          RandomSampler(IMAGES, **how) for how in ({"num_samples": 5}, {"replacement": True})))),
    *((learned(DataLoader(examples, batch_size=2)), BadInput, "list cannot be put into tensors.*ToTensor")
      for examples in ([(Path("a"), 1)], [(IMAGES[0], "cat"), (IMAGES[1], "dog")], [(IMAGES[0], 1), (IMAGES[0, :5], 1)],
                       [*[(IMAGES[0], 1)] * 2, (IMAGES[0, :5], 1)])),
    (learned(DataLoader([(IMAGES[0], 1)] * 60)), BadInput, "batch_size = 1, the default of torch"),
    (learned(graph=PCGraph(GRAPH.topology, replicas=3), weight_lr=(1e-3, 1e-2)), WrongShape, "weight_lr has 2 numbers"),
    *((learned(data, augment="shift and mirror", graph=PCGraph(topology.generative(0, [4], 36))), BadInput,
       "pictures of 4 x 9 pixels cannot be shifted") for data in (
           {"pixels": torch.rand(2, 4, 9)}, datasets.ImageSet("wide", torch.rand(2, 36), torch.arange(2), (1, 4, 9)))),
    (learned({"b": IMAGES[:, :4]}, validation=0.5, score="completion", graph=PCGraph(
        topology.from_mask(torch.ones(8, 8), {"a": 4, "b": 4}))), BadInput, "'completion' asks for the group 'a'"),
    (learned({"a": torch.rand(3, 4), "b": torch.rand(3, 2)}, augment="shift and mirror", graph=PCGraph(
        Topology({"a": 4, "b": 2}, [Edges("a", "b")], ["a", "b"]))), BadInput,
     "changes the group 'pixels', and the data has only a, b"),
    *((lambda pixels=pixels: shift_and_mirror(torch.zeros(2, pixels), seeded()), BadInput,
       f"images of {pixels} pixels cannot be shifted") for pixels in (4, 35))]

MEASURES: list[Case] = [
    *((lambda of=of, count=count: of(torch.rand(count), torch.ones(count).bool()), BadInput,
       f"both positive and negative.*{count} positive of {count}") for of in (metrics.auroc, metrics.roc)
      for count in (2, 0)),
    (lambda: metrics.seam(torch.rand(1, 8), torch.ones(8).bool(), (1, 4, 2)), BadInput, "no seam"),
    (lambda: metrics.seam(torch.rand(1, 8), torch.ones(4).bool(), (1, 4, 2)), WrongShape, r"known is \(4,\)"),
    (lambda: metrics.ssim(DIGITS, DIGITS, (1, 28, 27)), WrongShape, "do not have the shape"),
    (lambda: metrics.ssim(DIGITS[:, :280], DIGITS[:, :280], (1, 10, 28)), WrongShape, "too small"),
    (lambda: metrics.background_energy(GOOD, GOOD + 0.1), BadInput, "none of the 2 originals has a pixel of 0"),
    *((lambda of=of, wrong=wrong: of(wrong), WrongShape, says)
      for wrong, says in ((GOOD[:1], "at least two of them; got 1"), (GOOD[0], r"images are \(6,\)"))
      for of in (metrics.nearest_distances, metrics.diversity)),
    *((lambda sets=sets: metrics.frechet_judge_distance(judge.load_judge("mnist"), *sets), BadInput,
       r"64 features needs at least 128 images in each set.*got 127") for sets in (
           (DIGITS[:127], DIGITS), (DIGITS, DIGITS[:127]))),
    # the widths of the four layers are those of the original FID code, as torchmetrics lists them
    *((lambda width=width: metrics.fid(DIGITS, DIGITS, feature=width), BadInput, rf"64, 192, 768, 2048\); got {width}")
      for width in (0, 193, 2049)),
    (lambda: metrics.fid(DIGITS, DIGITS, feature=2048), BadInput, "2048 features needs at least 4096 images"),
    (lambda: metrics.fid(DIGITS, DIGITS, feature=64, shape=(2, 14, 28)), WrongShape, "1 or 3 channels"),
    (lambda: metrics.fid(DIGITS, DIGITS, feature=64, shape=(1, 28, 27)), WrongShape, "do not have the shape"),
    (lambda: metrics.fid(DIGITS, DIGITS * NAN, feature=64), BadValues, "100352 NaN")]

OTHERS: list[Case] = [
    (lambda: datasets.load("cifar10", sample=True), UnknownName, r"no bundled sample 'cifar10'. Known: mnist, fashion"),
    (lambda: datasets.load("mnist", "tests", sample=True), UnknownName, r"no split 'tests'.*Did you mean 'test'"),
    (lambda: datasets.load("minst"), UnknownName, r"no data set 'minst'.*Did you mean 'mnist'"),
    (lambda: datasets.ImageSet("mine", torch.rand(2, 24), LABELS[:2]), WrongShape,
     r"\(2, 24\); give shape=\(channels, height, width\)"),
    (lambda: datasets.ImageSet("mine", torch.rand(2, 8, 8, 3), LABELS[:2]), WrongShape,
     r"images of 'mine' are \(2, 8, 8, 3\), channels last"),
    (lambda: train_judges.train("mnist", epochs=0), BadInput, "epochs = 0; expected a whole number of at least 1"),
    (lambda: train_judges.train("cifar10"), UnknownName, r"no judge 'cifar10'. Known: mnist, fashion"),
    (stored(sizes=[9]), BadInput, "size 9 does not fit into 8 x 8"),
    (stored(thresholds=[0.1, 0.2]), BadInput, "2 thresholds to choose from, but no validation"),
    (stored(labels=torch.zeros(10, dtype=torch.long)), BadInput, "no training image of class 1"),
    (lambda: rivals.principal_components(IMAGES, 7), BadInput, "count = 7; images of 6 pixels"),
    (lambda: rivals.ridge(IMAGES, IMAGES, torch.ones(6).bool()), BadInput, "unknown pixel"),
    (lambda: rivals.ridge(IMAGES, IMAGES[:, :5], KNOWN), WrongShape, r"expected \(count, 6\)"),
    *((lambda fitted=fitted: fitted(IMAGES[:, :5]), WrongShape, r"are \(10, 5\); expected \(batch, 6\)") for fitted in (
        rivals.best_linear(IMAGES, 0.1), rivals.wiener_filter(IMAGES, 0.1, (1, 2, 3)))),
    *((lambda rows=rows: datasets.ImageSet("mine", IMAGES, LABELS, (1, 2, 3)).take(rows), BadInput, says)
      for rows, says in (([0, 99_999], r"rows = \[0, 99999\]: .*out of bounds.*expected row numbers from 0 to 9"),
                         (torch.ones(3).bool(), "rows = <Tensor"))),
    (lambda: causal.observations(causal.model({("a", "b"): 0.5, ("b", "a"): 0.5}), 3, seeded()), BadInput,
     "the model has cycles"),
    *((lambda of=of: causal.exact(Example({("x", "y"): 1.0}, **{"held": "x", "asked": "y", "changed": "x",
                                                                "effect": "y"} | {of: "z"})), UnknownGroup,
       "no vertex group 'z'. Known: x, y") for of in ("held", "asked", "changed", "effect")),
    (lambda: watch(TWINS, {"pixels": IMAGES}, [0.1], [0.1, 0.1]), WrongShape,
     "value_lr has 1 numbers; expected one for each of 2"),
    (lambda: watch(TWINS, {"pixels": torch.rand(3, 4)}, [0.1, 0.1], [0.1, 0.1]), WrongShape, r"pixels is \(3, 4\)"),
    (lambda: watch(GRAPH, {"pixels": IMAGES}, [0.1, 0.1], [0.1, 0.1]), BadInput, "replicas=k"),
    *((lambda steps=steps: tasks.denoise_path(GRAPH, IMAGES, steps), BadInput, "rising order") for steps in (
        [], [0, 5], [5, 3], [4, 4])),
    *((lambda ask=ask: ask(PCGraph(topology.fully_connected(6, 2, 3)), IMAGES, KNOWN), BadInput, "pixels send edges")
      for ask in (uncertainty.spread, uncertainty.linearised)),
    (lambda: uncertainty.spread(GRAPH, IMAGES, KNOWN, steps=10, chains=1), BadInput, "at least 4 samples"),
    (lambda: uncertainty.rank_correlation(torch.rand(3), torch.rand(4)), WrongShape, "same shape"),
    (lambda: tasks.generate(PCGraph(topology.generative(0, [5], 784)), torch.tensor([1])), UnknownGroup, "labels"),
    *((lambda make=make, more=more: make(PCGraph(topology.discriminative(2, [2], 2), **more)), BadInput,
       "without replicas, biases, top-k and flat prior") for make in (circuits.standard, circuits.dendritic)
      for more in ({"bias": True}, {"replicas": 2}, {"prior": "flat"}, {"top_k": 0.5})),
    (lambda: circuits.updates(circuits.standard(CHAIN), GRAPH, torch.zeros(1, 13)), WrongShape,
     "3 vertices, the graph 13"),
    (lambda: structure.measure(topology.from_mask(torch.eye(2))), BadInput, "falls into 2 parts"),
    (lambda: structure.measure(topology.from_mask([[1]])), BadInput, "is one vertex without links"),
    (lambda: structure.brain_regions(3, 4, 0.0, generator=seeded()), BadInput, r"rewire = 0\.0.*fall apart"),
    *((lambda wrong=wrong: decimals.share_interval(*wrong), BadInput, f"{wrong[0]} hits of {wrong[1]}; expected")
      for wrong in ((-1, 10), (11, 10), (0, 0))),
    *((lambda asked=asked: records.Recorder("n", "laptop", "cpu").add_frame(FRAME, claim="gen-c", **asked), BadInput,
       "no column 'psnr'; it has seed, mse") for asked in (
           {"quantities": ["psnr"]}, {"quantities": ["mse"], "parameters": ["psnr"]})),
    (lambda: plots.image_rows({"a": DIGITS, "b": DIGITS[:2]}), WrongShape, "differ in length"),
    (lambda: plots.image_rows({"mine": torch.rand(2, 35)}), WrongShape,
     r"pictures of 35 pixels are not square.*give shape=\(height, width\)"),
    *((lambda draw=draw: draw({}), BadInput, "at least one") for draw in (
        plots.mask_picture, lambda parts: plots.panels(parts, "x", "y"), plots.differences,
        lambda parts: plots.dots(parts, "x"), plots.mistakes)),
    (lambda: plots.graph_picture(TWO, ["a"]), WrongShape, "1 names for 2 vertices")]


@pytest.mark.parametrize(("call", "error", "says"), [
    *TOPOLOGIES, *GRAPHS, *QUERIES, *TRAININGS, *MEASURES, *OTHERS])
def test_bad_input_is_refused(call: Callable[[], object], error: type[PCGraphError], says: str) -> None:
    with pytest.raises(error, match=says):
        call()
