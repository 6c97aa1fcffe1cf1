"""The published scenes: their files, checksums, public homes and class names."""

from __future__ import annotations

from dataclasses import dataclass

EHU_PAGE = "https://www.ehu.eus/ccwintco/index.php/Hyperspectral_Remote_Sensing_Scenes"
SAMSON_PAGE = "https://rslab.ut.ac.ir/data"
ENMAP_BOX_PAGE = "https://enmap-box.readthedocs.io"


@dataclass(frozen=True)
class SceneFile:
    """One published file.

    Attributes
    ----------
    name : str
        File name.
    sha256 : str or None
        Checksum in hexadecimal; None if it is not known, and then the file is not downloaded.
    address : str or None
        Where it lies below the public home; None if it is read from a local folder only.
    """

    name: str
    sha256: str | None = None
    address: str | None = None


@dataclass(frozen=True)
class Origin:
    """Where the files of a scene come from.

    Attributes
    ----------
    folder : str
        Name of the folder that may hold them, inside the data folder and the cache.
    page : str
        Web page that offers them.
    by_hand : tuple of str
        Files that someone without them has to get.
    package_folder : tuple of str
        Installed package that carries them, and the folders inside it; empty if none does.
    piece_of : str
        Published file that they were cut from; empty if they are published as they are.
    """

    folder: str
    page: str
    by_hand: tuple[str, ...]
    package_folder: tuple[str, ...] = ()
    piece_of: str = ""


INDIAN_PINES = Origin(
    folder="indian-pines",
    page=EHU_PAGE,
    by_hand=("Indian_pines_corrected.mat", "Indian_pines_gt.mat"),
    package_folder=("tensorly", "datasets", "data"),
)
# The same arrays in two formats: as the package carries them, and as published.
INDIAN_PINES_CUBE = (
    SceneFile(
        "Indian_pines_corrected.npy",
        sha256="8f038e4d81569e38ebfc72a15c9984c150de42580ab260be10a13442e912e451",
    ),
    SceneFile(
        "Indian_pines_corrected.mat",
        sha256="ec2f8808710919d566f70f0d4aa885aae1ddfd42b734aba71c5e12ca65450939",
        address="6/67/Indian_pines_corrected.mat",
    ),
)
INDIAN_PINES_TRUTH = (
    SceneFile(
        "Indian_pines_gt.npy",
        sha256="44610d21625b311b05b8e0c4ba9a6cc755c2fbb9df48e4d89419024aa6ad3f9d",
    ),
    SceneFile(
        "Indian_pines_gt.mat",
        sha256="65c4687a8ab04f6da4789799bc3bc4f6e88bccac3ed6a2e6ae367e5e6b9e429c",
        address="c/c4/Indian_pines_gt.mat",
    ),
)
INDIAN_PINES_CLASSES = {  # the names of all classes are spelt as published
    1: "Alfalfa",
    2: "Corn-notill",
    3: "Corn-mintill",
    4: "Corn",
    5: "Grass-pasture",
    6: "Grass-trees",
    7: "Grass-pasture-mowed",
    8: "Hay-windrowed",
    9: "Oats",
    10: "Soybean-notill",
    11: "Soybean-mintill",
    12: "Soybean-clean",
    13: "Wheat",
    14: "Woods",
    15: "Buildings-Grass-Trees-Drives",
    16: "Stone-Steel-Towers",
}

SALINAS_A = Origin(
    folder="salinas-a", page=EHU_PAGE, by_hand=("SalinasA_corrected.mat", "SalinasA_gt.mat")
)
SALINAS_A_CUBE = SceneFile(
    "SalinasA_corrected.mat",
    sha256="d75684ed3ab71a1024cee0f9db9061f50a3523a92ff5edfbbb1eed976b9f1721",
    address="1/1a/SalinasA_corrected.mat",
)
SALINAS_A_TRUTH = SceneFile(
    "SalinasA_gt.mat",
    sha256="17814c1d3296c0e29b27f320f2c4174d2a68adb87e376abe78f02923e2c2e454",
    address="a/aa/SalinasA_gt.mat",
)
SALINAS_A_CLASSES = {  # the numbers of the larger Salinas scene, which it is cut from
    1: "Brocoli_green_weeds_1",
    10: "Corn_senesced_green_weeds",
    11: "Lettuce_romaine_4wk",
    12: "Lettuce_romaine_5wk",
    13: "Lettuce_romaine_6wk",
    14: "Lettuce_romaine_7wk",
}

KSC = Origin(folder="ksc", page=EHU_PAGE, by_hand=("KSC.mat", "KSC_gt.mat"))
KSC_SHAPE = (512, 614, 176)
KSC_CUBE = SceneFile("KSC.mat")
KSC_TRUTH = SceneFile(
    "KSC_gt.mat",
    sha256="a1d6ab9293691006bd4d9742d1a1e1c141b1aaa5fbc5fa128b33c1d09038510b",
    address="a/a6/KSC_gt.mat",
)
KSC_LABELLED = SceneFile(
    "KSC_labelled.npz",
    sha256="15db31cb607e72ac02f454fbdbf602d0406e09ad3f0e2c7a7f6c90d73c010699",
)
KSC_WAVELENGTHS = SceneFile("KSC_spec.mat")
KSC_CLASSES = {
    1: "Scrub",
    2: "Willow swamp",
    3: "Cabbage palm hammock",
    4: "Cabbage palm/oak hammock",
    5: "Slash pine",
    6: "Oak/broadleaf hammock",
    7: "Hardwood swamp",
    8: "Graminoid marsh",
    9: "Spartina marsh",
    10: "Cattail marsh",
    11: "Salt marsh",
    12: "Mud flats",
    13: "Water",
}

SAMSON = Origin(folder="samson", page=SAMSON_PAGE, by_hand=("samson_1.mat", "end3.mat"))
SAMSON_CUBE = SceneFile(
    "samson_1.mat",
    sha256="1ebacaf7cd32bfc31c0ee3fd56c63a7f29a434893a8b45705fb59cd8a0c8beb6",
)
SAMSON_ABUNDANCES = SceneFile(
    "end3.mat",
    sha256="ce768182ce5292390180f827ff5769112cf3d299f4e64ab43e950a310b7ec9fa",
)
SAMSON_CLASSES = {1: "Rock", 2: "Tree", 3: "Water"}

ENMAP_POTSDAM_NORTH = Origin(
    folder="enmap-potsdam-north",
    page=ENMAP_BOX_PAGE,
    by_hand=("cube.tif", "landcover.tif"),
    piece_of="enmap_potsdam.tif and its land cover in the example data of the EnMAP-Box",
)
ENMAP_POTSDAM_NORTH_CUBE = SceneFile(
    "cube.tif",
    sha256="c393a547fc931fbf276663e062ce68331d1a592253f0c4b7d2b782cb06be057f",
)
ENMAP_POTSDAM_NORTH_TRUTH = SceneFile(
    "landcover.tif",
    sha256="27110960b0a889843cea7ac294ea9eb4b2e9a930293bcd37efeb01417f4118a0",
)
ENMAP_POTSDAM_NORTH_CLASSES: dict[int, str] = {}  # the file does not name its five classes
